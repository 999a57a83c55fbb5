"""`radrl study` from the command line."""

import json
import shutil
import zipfile

import analyses_tables
import pytest
import yaml

from kedro_repro.locks import alone
from radrl.commands import study as module
from radrl.studies.curves import HISTORIES
from radrl.studies.execution import COMPARISON, PAIRS

ARMS = ("sft", "grpo")
HEADER = "arm,kind,metric,value,difference,difference_low,difference_high,p"


@pytest.fixture
def project(root, tmp_path, monkeypatch):
    """A project's folder as far as the command looks, with clones that are only folders."""
    folder = tmp_path / "project"
    (folder / "conf" / "base").mkdir(parents=True)
    (folder / "conf" / "recipes").mkdir()
    for name in ("conf/base/published_results.csv", "conf/recipes/phantom-laptop.yaml"):
        (folder / name).write_bytes((root / name).read_bytes())
    (folder / "dvc.yaml").touch()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(module.clones, "uncommitted", lambda root: [])
    monkeypatch.setattr(module.clones, "prepare", lambda root, clone, params, changed: clone.mkdir())
    monkeypatch.setattr(module, "Repro", Pretended)
    return folder


@pytest.fixture
def file(project):
    runs = {name: {"set": {"selection.random.share": share}} for name, share in (("few", 0.1), ("all", 1.0))}
    given = {
        "title": "A trial",
        "recipe": "phantom-laptop.yaml",
        "seeds": [0, 1],
        "set": {"training.steps": 7},
        "metrics": ["ce_rules_sample14_f1"],
        "runs": {name: run | {"arms": list(ARMS)} for name, run in runs.items()},
    }
    path = project / "conf" / "recipes" / "study-trial.yaml"
    path.write_text(yaml.safe_dump(given, sort_keys=False))
    return path


class Pretended:
    GRPO = 0.4

    def __init__(self, root, study):
        pass

    def __call__(self, experiment):
        lines = [f"sft,arm,ce_rules_sample14_f1,{0.3 + experiment.seed / 100},,,,"]
        lines += [f"grpo,arm,ce_rules_sample14_f1,{self.GRPO + experiment.seed / 100},0.1,0.06,0.14,0.01"]
        target = experiment.clone / COMPARISON
        target.parent.mkdir(parents=True)
        target.write_text("\n".join([HEADER, *lines]) + "\n")
        history = experiment.clone / HISTORIES / "grpo.csv"
        history.parent.mkdir(parents=True)
        history.write_text(f"step,reward\n1,{0.2 + experiment.seed / 10}\n2,0.5\n")
        return 0

    def stop(self):
        pass


class Never(Pretended):
    def __call__(self, experiment):
        raise AssertionError(f"{experiment.title} ran")


class StillRising(Pretended):
    """Its arm ends 0.01 below the other row, and gained 0.02 in the last 15 of 60 updates."""

    GRPO = 0.29

    def __call__(self, experiment):
        super().__call__(experiment)
        (experiment.clone / PAIRS).write_text("metric,arm,other,error\nce_rules_sample14_f1,grpo,sft,0.001\n")
        looks = [(0, 0.1), (15, 0.2), (30, 0.3), (45, 0.4), (60, 0.42 + experiment.seed / 10000)]
        table = "\n".join(f"{step},{f1}" for step, f1 in looks)
        (experiment.clone / HISTORIES / "grpo.csv").write_text(f"step,watch/ce_rules_sample14_f1\n{table}\n")
        return 0


class Looking(Pretended):
    """Runs up to the stage analyses."""

    def __call__(self, experiment):
        assert experiment.stage == "analyses"
        analyses_tables.write(experiment)
        return 0


def test_help_says_what_a_study_is_and_how_it_goes_on(radrl):
    said = " ".join(radrl("study", "--help").stdout.split())
    for word in ("Examples:", "--dry-run", "--allow-dirty", "goes on where it was", "last commit"):
        assert word in said


def test_a_study_is_run_and_written(radrl, file, project, tmp_path):
    result = radrl("study", file, "--out", tmp_path / "out" / "page.md")
    assert result.exit_code == 0, result.output
    assert "[4/4] all, seed 1: done in 0 s" in result.stderr
    text = (tmp_path / "out" / "page.md").read_text()
    assert text.startswith("# A trial\n\nDrawn films")
    assert "Made by `radrl study conf/recipes/study-trial.yaml`" in text
    assert "| ce_rules_sample14_f1 | all | grpo | 0.405 ± 0.007 | +0.100 (" in text
    assert "| few | grpo | sft | full | 7 | 448 |" in text
    lines = (tmp_path / "out" / "page.csv").read_text().splitlines()
    assert len(lines) == 5


def test_curves_and_pictures_lie_beside_the_page(radrl, file, tmp_path):
    result = radrl("study", file, "--out", tmp_path / "page.md")
    assert result.exit_code == 0, result.output
    made = {path.name: path for path in tmp_path.iterdir() if path.is_file()}
    assert sorted(made) == [
        "page-curves.csv",
        "page-curves.png",
        "page-levelling.csv",
        "page.csv",
        "page.md",
        "page.png",
    ]
    # (0.2 + 0.5) / 2 and (0.3 + 0.5) / 2 in the two seeds
    header, few, _ = made["page-curves.csv"].read_text().splitlines()
    assert header == "run,arm,step,what,mean,sd,seeds"
    assert few == "few,grpo,5,reward,0.375,0.03536,2"
    for name in ("page.png", "page-curves.png"):
        assert f"]({name})" in made["page.md"].read_text()
        assert made[name].read_bytes().startswith(b"\x89PNG")
        assert name in result.stderr


def test_a_claim_that_more_training_could_overturn_was_stopped_early(
    radrl, file, project, tmp_path, monkeypatch
):
    monkeypatch.setattr(module, "Repro", StillRising)
    claim = {"says": "Rewards add", "where": "DEER, table 4", "arm": "all.grpo", "over": "sft"}
    given = yaml.safe_load(file.read_text()) | {"claims": [claim | {"metrics": ["ce_rules_sample14_f1"]}]}
    file.write_text(yaml.safe_dump(given, sort_keys=False))
    result = radrl("study", file, "--out", tmp_path / "page.md")
    assert result.exit_code == 0, result.output
    assert "0 contradicted, 0 not decidable, 1 stopped early." in result.stderr
    text = (tmp_path / "page.md").read_text()
    assert "| sample14_f1: **stopped early** (`all.grpo` rising; the test: contradicted) |" in text
    # 0.02 and 0.0201 in 15 updates
    assert "| all | grpo | 60 | sample F1 on the watched films | +0.080 ± 0.000 | rising |" in text
    assert "grpo,watch/ce_rules_sample14_f1,60,2,0.080" in (tmp_path / "page-levelling.csv").read_text()
    # the arm is 0.01 below in both seeds, and 0.001 is of the test films
    assert (
        "| ce_rules_sample14_f1 | all.grpo | all.sft | 0.0000 | 0.0010 | 0.0000 (0.0000 to 0.0000) | 0.0007 |"
        in text
    )
    spread = (tmp_path / "page-spread.csv").read_text().splitlines()
    assert [line.split(",")[:7] for line in spread[1:]] == [
        ["ce_rules_sample14_f1", run, "grpo", run, "sft", "2", "False"] for run in ("few", "all")
    ]


def test_seeds_that_ran_on_two_machines_are_one_study(radrl, file, project, tmp_path, monkeypatch):
    """The page and its tables are those of one machine that ran both, but for a line that says so."""
    monkeypatch.setattr(module.clones, "commit", lambda root: "0123456789abcdef")
    whole = radrl("study", file, "--out", tmp_path / "whole.md")
    assert whole.exit_code == 0, whole.output
    for seed in (0, 1):
        shutil.rmtree(project / "data/.studies")
        result = radrl("study", file, "--seeds", seed, "--pack", tmp_path / f"{seed}.zip")
        assert result.exit_code == 0, result.output
    shutil.rmtree(project / "data/.studies")
    monkeypatch.setattr(module, "Repro", Never)
    packs = [part for seed in (0, 1) for part in ("--packed", tmp_path / f"{seed}.zip")]
    result = radrl("study", file, *packs, "--out", tmp_path / "parted.md")
    assert result.exit_code == 0, result.output
    for suffix in (".csv", "-curves.csv", "-levelling.csv"):
        assert (tmp_path / f"parted{suffix}").read_bytes() == (tmp_path / f"whole{suffix}").read_bytes()
    said = "Ran elsewhere, code of 0123456789: few, seed 0; all, seed 0; few, seed 1; all, seed 1."
    text = (tmp_path / "parted.md").read_text()
    assert text.replace(f"{said}\n\n", "").replace("parted", "whole") == (tmp_path / "whole.md").read_text()
    assert said in text


def test_one_seed_of_a_file_and_one_that_runs_here(radrl, file, project, tmp_path, monkeypatch):
    monkeypatch.setattr(module.clones, "commit", lambda root: "0123456789abcdef")
    radrl("study", file, "--seeds", 0, "--pack", tmp_path / "0.zip")
    shutil.rmtree(project / "data/.studies")
    result = radrl("study", file, "--packed", tmp_path / "0.zip", "--out", tmp_path / "page.md")
    assert result.exit_code == 0, result.output
    assert "[2/2] all, seed 1: done" in result.stderr
    assert "seed 0: started" not in result.stderr
    assert "| grpo | 0.405 ± 0.007 |" in (tmp_path / "page.md").read_text()


def test_a_file_of_other_parameters_is_refused_by_their_names(radrl, file, project, tmp_path, monkeypatch):
    monkeypatch.setattr(module.clones, "commit", lambda root: "0123456789abcdef")
    radrl("study", file, "--seeds", 0, "--pack", tmp_path / "0.zip")
    file.write_text(file.read_text().replace("training.steps: 7", "training.steps: 8"))
    result = radrl("study", file, "--packed", tmp_path / "0.zip")
    assert result.exit_code == 1
    said = " ".join(result.output.split())
    assert "few, seed 0 ran with other parameters (training.steps)" in said
    assert "or run that seed here" in said


def rewritten(path, change):
    """A zip file whose members are changed one by one, or left out."""
    with zipfile.ZipFile(path) as packed:
        members = {name: change(name, packed.read(name)) for name in packed.namelist()}
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in members.items():
            if content is not None:
                packed.writestr(name, content)


def test_a_file_of_an_older_release_fits_where_it_means_the_same(radrl, file, project, tmp_path, monkeypatch):
    """Neither a key that came since and changes no number, nor how work was shared, is a reason to refuse."""
    monkeypatch.setattr(module.clones, "commit", lambda root: "0123456789abcdef")
    radrl("study", file, "--pack", tmp_path / "all.zip", "--out", tmp_path / "page.md")

    def older(name, content):
        if not name.endswith("about.json"):
            return content
        about = json.loads(content)
        about["params"]["compute"]["workers"] = 2
        del about["params"]["training"]["watch"]["rollouts"]  # a page to look at
        return json.dumps(about)

    rewritten(tmp_path / "all.zip", older)
    result = radrl("study", file, "--packed", tmp_path / "all.zip", "--out", tmp_path / "page.md")
    assert result.exit_code == 0, result.output


@pytest.fixture
def across(file, monkeypatch):
    """The trial asks what its runs differ by."""
    monkeypatch.setattr(module, "Repro", StillRising)
    monkeypatch.setattr(module.clones, "commit", lambda root: "0123456789abcdef")
    claim = {"says": "More films help", "where": "a trial", "arm": "all.grpo", "over": "few.grpo"}
    given = yaml.safe_load(file.read_text()) | {"claims": [claim | {"metrics": ["ce_rules_sample14_f1"]}]}
    file.write_text(yaml.safe_dump(given, sort_keys=False))
    return file


def test_a_study_of_differences_between_runs_is_made_of_files_too(radrl, across, tmp_path):
    whole = radrl("study", across, "--pack", tmp_path / "all.zip", "--out", tmp_path / "whole.md")
    assert whole.exit_code == 0, whole.output
    result = radrl("study", across, "--packed", tmp_path / "all.zip", "--out", tmp_path / "parted.md")
    assert result.exit_code == 0, result.output
    names = ("whole-claims.csv", "parted-claims.csv")
    assert len({(tmp_path / name).read_bytes() for name in names}) == 1


def test_runs_of_a_seed_go_together_where_they_are_compared(radrl, across, tmp_path):
    for lost, says in (
        ("few-seed-1/", "holds all, seed 1, and not few, seed 1"),
        ("across_runs.csv", "lacks across_runs.csv"),
    ):
        radrl("study", across, "--pack", tmp_path / "all.zip")
        rewritten(tmp_path / "all.zip", lambda name, content, lost=lost: None if lost in name else content)
        result = radrl("study", across, "--packed", tmp_path / "all.zip")
        assert result.exit_code == 1
        assert says in " ".join(result.output.split())


def test_a_file_that_holds_no_seed_of_the_study_or_is_none(radrl, file, project, tmp_path, monkeypatch):
    monkeypatch.setattr(module.clones, "commit", lambda root: "0123456789abcdef")
    radrl("study", file, "--seeds", 0, "--pack", tmp_path / "0.zip")
    result = radrl("study", file, "--seeds", 1, "--packed", tmp_path / "0.zip")
    assert result.exit_code == 1
    assert "holds all-seed-0, few-seed-0, and none of the study's" in " ".join(result.output.split())
    (tmp_path / "torn.zip").write_bytes((tmp_path / "0.zip").read_bytes()[:200])
    result = radrl("study", file, "--packed", tmp_path / "torn.zip")
    assert result.exit_code == 1
    assert "is no zip file, or damaged" in " ".join(result.output.split())


def test_what_a_file_holds_is_read_whole_once_and_said(radrl, file, project, tmp_path, monkeypatch):
    monkeypatch.setattr(module.clones, "commit", lambda root: "0123456789abcdef")
    radrl("study", file, "--seeds", 0, "--pack", tmp_path / "0.zip")
    shutil.copy(tmp_path / "0.zip", tmp_path / "again.zip")

    def refused(*packs):
        result = radrl("study", file, "--dry-run", *(part for pack in packs for part in ("--packed", pack)))
        assert result.exit_code == 1
        return " ".join(result.output.split())

    twice = refused(tmp_path / "0.zip", tmp_path / "again.zip")
    assert "0.zip and" in twice
    assert "again.zip both hold few, seed 0; give one of them" in twice
    for content, says in ((b"{", "at character 2"), (b"{}", "about.json does not say commit and params")):
        shutil.copy(tmp_path / "0.zip", tmp_path / "torn.zip")
        rewritten(
            tmp_path / "torn.zip",
            lambda name, own, content=content: content if name == "few-seed-0/about.json" else own,
        )
        assert says in refused(tmp_path / "torn.zip")
    monkeypatch.setattr(module.finished_seeds, "_MOST", 10)
    assert "about.json has more than 0 MiB; pack its seeds again" in refused(tmp_path / "0.zip")


def test_without_out_the_page_lies_with_the_clones(radrl, file, project):
    assert radrl("study", file, "--seeds", "5").exit_code == 0
    folder = project / "data" / ".studies" / "study-trial"
    assert sorted(path.name for path in folder.iterdir()) == [
        "all-seed-5",
        "few-seed-5",
        "results-curves.csv",
        "results-levelling.csv",
        "results.csv",
        "results.md",
    ]


def test_a_dry_run_shows_the_plan_and_does_nothing(radrl, file, project):
    said = radrl("study", file, "--dry-run", "--seeds", "0 4").stdout
    for line in (
        "training.steps = 7",
        "run         few",
        "selection.random.share = 0.1",
        "updates 7, rollouts 448, on full",
        "sft, as it is (the others are tested against it)",
        "experiments 4",
        "all, seed 4          not started",
    ):
        assert line in said
    assert not (project / "data").exists()


def test_uncommitted_code_is_refused_unless_asked_for(radrl, file, project, monkeypatch):
    changed = [f"src/radrl/{i}.py" for i in range(12)]
    monkeypatch.setattr(module.clones, "uncommitted", lambda root: changed)
    refused = radrl("study", file)
    assert refused.exit_code == 1
    assert (
        "src/radrl/9.py\n  and 2 more\nCommit them, or take them along with --allow-dirty." in refused.stderr
    )
    assert not (project / "data").exists()
    taken = radrl("study", file, "--allow-dirty")
    assert taken.exit_code == 0
    assert "note: 12 uncommitted files are taken along" in taken.stderr


@pytest.mark.parametrize("seeds", ["0,x", "1,1", "-1"])
def test_seeds_are_different_numbers(radrl, file, seeds):
    result = radrl("study", file, "--seeds", seeds)
    assert result.exit_code == 2
    assert "is no list of different seeds, such as 0,1,2" in result.stderr


def test_a_bad_file_is_said_in_its_own_words(radrl, file):
    file.write_text(file.read_text().replace("training.steps", "training.step"))
    result = radrl("study", file)
    assert result.exit_code == 1
    assert "training.step: no such key; did you mean 'steps'?" in result.stderr
    assert "bug" not in result.stderr


def test_an_unknown_metric_is_refused_before_anything_runs(radrl, file, project):
    file.write_text(file.read_text().replace("- ce_rules_sample14_f1", "- ce_rules_sampl14_f1"))
    result = radrl("study", file)
    assert result.exit_code == 1
    assert "'ce_rules_sampl14_f1' is no metric; did you mean 'ce_rules_sample14_f1'?" in result.stderr
    assert "compare.metrics" in result.stderr
    assert not (project / "data").exists()


def test_a_study_that_runs_is_not_started_again(radrl, file, project):
    with alone(project / "data" / ".studies" / "study-trial", "radrl study"):
        result = radrl("study", file)
        assert result.exit_code == 1
        assert "already running: another `radrl study` (process " in result.stderr
        assert not list((project / "data" / ".studies" / "study-trial").iterdir())  # nothing was prepared
    assert radrl("study", file).exit_code == 0


def test_real_reports_with_drawn_films_are_no_patients(file, root, monkeypatch):
    """The rule of `ingest_summary`: reports of patients do not make their drawn films those of patients."""
    for recipe, drawn in (("openi-laptop", True), ("phantom-laptop", True), ("mrg_r1-iu_xray", False)):
        text = (root / "conf" / "recipes" / f"{recipe}.yaml").read_text()
        (file.parent / "own.yaml").write_text(text)
        trial = file.parent / "study-own.yaml"
        trial.write_text(yaml.safe_dump({"title": "A trial", "recipe": "own.yaml", "seeds": [0]}))
        assert module.describe(module.read(trial, root), "radrl study").drawn is drawn


@pytest.fixture
def looked(project, monkeypatch):
    """A study of the stage analyses; each experiment's tables are made up."""
    monkeypatch.setattr(module, "Repro", Looking)
    claim = {"says": "The gradient finds the words", "where": "DEER, table 6", "arm": "gradient"}
    claim |= {"over": "random", "metrics": ["masking_rules_label_modification_ratio"], "margin": 0.02}
    fewer = {"says": "Fewer without variance", "where": "DEER, table 7", "arm": "random"}
    fewer |= {"over": "ddsampling", "metrics": ["rewards_zero_variance_ratio"]}
    given = {"title": "A look", "recipe": "phantom-laptop.yaml", "stage": "analyses", "seeds": [0, 1]}
    path = project / "conf" / "recipes" / "study-look.yaml"
    path.write_text(yaml.safe_dump(given | {"claims": [claim, fewer]}))
    return path


def test_a_study_of_the_analyses_is_run_and_written(radrl, looked, tmp_path):
    result = radrl("study", looked, "--out", tmp_path / "out" / "look.md")
    assert result.exit_code == 0, result.output
    made = {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}
    assert sorted(made) == ["look-claims.csv", "look.csv", "look.md"]
    text = made["look.md"]
    assert text.startswith("# A look\n\nDrawn films")
    assert "2 claims, 2 hypotheses: 1 supported, 1 contradicted, 0 not decidable, 0 stopped early." in text
    assert "Rows are no arms here" in text
    assert "## Budget" not in text
    assert "| masking_rules_label_modification_ratio | gradient | 0.705 ± 0.007 | +0.400 (" in text
    header, random, *_ = made["look.csv"].splitlines()
    assert header.startswith("metric,run,arm,kind,seeds,mean,sd,difference,")
    assert random.startswith("masking_rules_label_modification_ratio,,random,arm,2,0.305")
    assert len(made["look.csv"].splitlines()) == 1 + 4 * 3 + 3 * 4


def test_a_dry_run_of_the_analyses_shows_rows_and_no_arms(radrl, looked, project):
    said = radrl("study", looked, "--dry-run").stdout
    assert "  masking_chexbert_compact_post_masking_f1: random, tf_idf, gradient" in said
    assert "  rewards_unique_rewards: full, random, ddsampling, most_diverse" in said
    assert "updates" not in said
    assert not (project / "data").exists()


def test_outside_the_project_it_says_where_to_go(radrl, file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = radrl("study", file)
    assert result.exit_code == 2
    assert "change into the folder that holds dvc.yaml" in result.stderr
