"""The record in MLflow: one run a stage (of one arm), its parameters, numbers, files and what it read."""

from __future__ import annotations

import json
import logging
import tempfile
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from kedro_repro.dvc_digests import Digester, by_sha256
from kedro_repro.tracking import killed_runs, machine, moved_project, parent_runs, server, sqlite_store
from kedro_repro.tracking.git_identity import identity
from kedro_repro.tracking.server import MEND, RecordError, error_line, is_server, on_this_machine, shown
from kedro_repro.tracking.table_columns import described
from radrl.wiring.ui_server import grouped, tags

if TYPE_CHECKING:
    import pandas as pd
    from mlflow import MlflowClient
    from mlflow.entities import Experiment, Metric

    from radrl.params.schema import Params
    from radrl.wiring.policy_models import Scored

_LOG = logging.getLogger(__name__)
_T = TypeVar("_T")

EVERY: Final = 5.0
"""Seconds between two sendings of steps to a server; a data base of one's own has each at once."""

AGAIN: Final = 300.0
"""Seconds before steps that a server did not take are sent again."""

INCOMPLETE: Final = "record.incomplete"
"""Tag of a run of which the server did not take everything."""

TABLE_ROWS: Final = 1000
"""Rows of a table that are kept: MLflow's page takes in all of them."""

HIDDEN = "(a local path)"
"""What the record of a run says in place of a parameter that is one."""


class Tracker:
    """The one place that talks to MLflow.

    A server that does not answer stops a pipeline before its first stage. Later it costs the record what it
    did not take, which the log says, and never the training.

    Args:
        conf: `tracking_uri`, `experiment`, `artifacts`, a folder for files where the store is no server, and
            `model_megabytes`, up to which policies are logged as models, `headline`, the metrics that the
            page of arms shows, `watched`, that which looks at validation films go by, and `study`, the name
            of the run that others stand below.
        root: what paths in `conf` are relative to.
        private: keys of parameters whose values stay out.
        digest: takes the digests of artifacts.
    """

    def __init__(
        self,
        conf: Mapping[str, Any],
        root: Path,
        private: Collection[str] = (),
        digest: Digester = by_sha256,
    ) -> None:
        self._conf, self._root, self._private, self._digest = conf, root, private, digest
        self._uri, self._remote = conf["tracking_uri"], is_server(conf["tracking_uri"])
        self._study, self._parent = str(conf.get("study", "")), ""
        self._runs: dict[tuple[str, str], str] = {}
        self._meters: dict[str, machine.Meter] = {}
        self._described: dict[tuple[str, str], tuple[str | None, str | None]] = {}
        self._noted: dict[str, set[str]] = {}
        self._read: dict[str, dict[str, str]] = {}
        self._scored: dict[str, Scored | None] = {}
        self._run: str | None = None
        self._stage = ""
        self._rows: list[Metric] = []
        self._send_at = 0.0
        self._lost: set[str] = set()
        self._client_: MlflowClient | None = None
        self._experiment_: str | None = None

    @property
    def _client(self) -> MlflowClient:
        if self._client_ is None:
            if self._remote:
                server.prepare()
            from mlflow import MlflowClient  # 1.3 s, paid when the first run opens

            logging.getLogger("alembic").setLevel(logging.WARNING)
            scheme, _, rest = self._uri.partition(":///")
            own = self._uri
            if scheme == "sqlite":
                sqlite_store.ensure(self._root / rest)
                moved_project.follow(self._root / rest, self._root, self._conf["artifacts"])
                own = f"{scheme}:///{self._root / rest}"
            self._client_ = MlflowClient(own)
        return self._client_

    def require(self) -> None:
        """Find out whether a server is there, before anything is computed.

        Raises:
            RecordError: when it is not, or takes nothing from here.
        """
        if self._remote:
            self._attempt(self._experiment)

    def enter(self, stage: str, arm: str, labels: Mapping[str, str] | None = None) -> None:
        """Go on in the run of this stage and arm, opening it the first time: Kedro lets arms take turns.

        Args:
            stage: its name.
            arm: its name, empty for a stage that runs once.
            labels: tags to search and sort by.

        Raises:
            RecordError: when a server does not take the first run.
        """
        known = self._runs.get((stage, arm))
        if known and known == self._run:
            return
        self._close("FINISHED")
        self._stage = stage
        self._run = known or self._attempt(lambda: self._open(stage, arm, labels or {}))
        if known:
            self._tell(self._client.update_run, status="RUNNING")
            self._meters[known].start()
        elif self._run:
            self._runs[stage, arm] = self._run

    def below(self, study: str) -> None:
        """Open runs below that of a study from now on, unless `conf` has named one."""
        self._study = self._study or study

    def leave(self, status: str) -> None:
        """Close the open run, if any, with all its steps, and the one above where nothing else is open."""
        ended, above = self._run, self._parent
        self._close(status)
        if ended and above:
            self._attempt(lambda: parent_runs.settle(self._client, self._experiment(), above, status))

    def _close(self, status: str) -> None:
        if self._run:
            self._note_cost(self._run)
            self._send()
            if self._rows:
                _LOG.warning("%d numbers of run %s are not in MLflow", len(self._rows), self._run)
            if self._run in self._lost:
                self._tell(self._client.set_tag, INCOMPLETE, "true")
            self._tell(self._client.set_terminated, status)
        self._run, self._rows, self._send_at = None, [], 0.0

    def _open(self, stage: str, arm: str, labels: Mapping[str, str]) -> str:
        name, code = f"{stage} {arm}".strip(), identity(self._root)
        tags = {"mlflow.runName": name, "stage": stage, "arm": arm, **labels, **code, **killed_runs.marks()}
        experiment = self._experiment()
        with self._one_at_a_time():
            if self._study:
                self._parent = parent_runs.opened(self._client, experiment, self._study, code)
                tags |= {parent_runs.STAGE: self._study, parent_runs.PARENT: self._parent}
            run = self._client.create_run(experiment, tags={k: v for k, v in tags.items() if v})
        self._meters[run.info.run_id] = machine.Meter()
        return str(run.info.run_id)

    def _one_at_a_time(self) -> AbstractContextManager[None]:
        """A block in which no other process of this machine makes the experiment or opens or closes runs."""
        return sqlite_store.one_at_a_time(self._root / "mlflow.db")

    def _note_cost(self, run: str) -> None:
        """Note what the run has taken so far and on what: by now it has loaded what it computes with."""
        from mlflow.entities import RunTag

        tags = [RunTag(name, value) for name, value in machine.hardware().items() if value]
        self._tell(self._client.log_batch, tags=tags)
        self.metrics({**self._meters[run].stop(), **machine.peak()})

    def parameters(self, inputs: Mapping[str, Any]) -> None:
        """Note parameters under the keys they have in params.yaml."""
        if not self._run:
            return
        from mlflow.entities import Param

        flat = {
            k: v for name, value in inputs.items() for k, v in _flatten(name.removeprefix("params:"), value)
        }
        known = self._noted.setdefault(self._run, set())
        public = {key: HIDDEN if value and key in self._private else value for key, value in flat.items()}
        fresh = [Param(key, str(value)[:6000]) for key, value in public.items() if key not in known]
        if self._tell(self._client.log_batch, params=fresh):
            known.update(param.key for param in fresh)

    def metrics(
        self,
        values: Mapping[str, Any],
        step: int = 0,
        section: str | None = None,
        *,
        of: Scored | None = None,
    ) -> None:
        """Note the numbers among the values, below a section, in those of their names, or below the stage.

        Args:
            values: by name, in tables or not.
            step: of a training.
            section: below which they stand.
            of: the model that has them too, and on which films.
        """
        if not self._run:
            return
        from mlflow.entities import Metric
        from mlflow.utils.time import get_current_time_millis

        now = get_current_time_millis()
        flat = [(k, v) for name, value in values.items() for k, v in _flatten(str(name), value)]
        self._rows += [
            Metric(grouped(k, section, stage=self._stage), float(v), now, step, *(of or ())[:3])
            for k, v in flat
            if isinstance(v, (int, float)) and not isinstance(v, bool)
        ]
        if not self._remote or time.monotonic() >= self._send_at:
            self._send()

    def _send(self) -> None:
        """Send the numbers that wait, a thousand a request; those that a server does not take wait on."""
        self._send_at = time.monotonic() + EVERY
        while self._rows:
            if not self._tell(self._client.log_batch, metrics=self._rows[:1000]):
                self._send_at = time.monotonic() + AGAIN
                return
            del self._rows[:1000]

    def artifact(self, path: Path) -> None:
        """Keep a copy of a file."""
        self._tell(self._client.log_artifact, str(path))

    def page(self, path: Path) -> None:
        """Keep a copy of a page that has its notes inside, for it will have nothing beside it."""
        from radrl.pages.run_notes import with_notes

        with tempfile.TemporaryDirectory(prefix="radrl-page-") as folder:
            copy = Path(folder) / path.name
            copy.write_text(with_notes(path), encoding="utf-8")
            self.artifact(copy)

    def artifact_of_arms(self, path: Path, kind: str) -> None:
        """Keep a copy in the runs of the arms, too, whose outputs of a kind the open run has read."""
        from radrl.wiring import policy_models

        if self._run:
            read = self._read.get(self._run, {})
            self._attempt(lambda: policy_models.keep(self._client, self._experiment(), read, kind, path))

    def scored(self, kind: str) -> Scored | None:
        """The model of the arm of which the open run has read an output, noting the films as an input.

        Args:
            kind: of the output, by what follows the arm in its name.
        """
        from radrl.wiring import policy_models

        if not (run := self._run):
            return None
        arms = {name.removesuffix(f".{kind}"): own for name, own in self._read.get(run, {}).items()
                if name.endswith(f".{kind}")}  # fmt: skip
        if run not in self._scored and len(arms) == 1:
            ((arm, digest),) = arms.items()
            found = self._attempt(lambda: policy_models.scored(self._client, self._experiment(), arm, digest))
            self._scored[run] = found
            if found:
                self._input(found.dataset, found.digest, found.source, "scored")
        return self._scored.get(run)

    def policy(self, path: Path, params: Params, arm: str, recipe: Mapping[str, str] | None = None) -> None:
        """Log a trained policy as a model, unless it is larger than `model_megabytes`.

        Args:
            path: its folder.
            params: the whole of params.yaml.
            arm: its name.
            recipe: what makes the arm, by name.
        """
        from radrl.wiring import policy_models

        if not self._run or policy_models.megabytes(path) > float(self._conf.get("model_megabytes", 0)):
            return
        with tempfile.TemporaryDirectory(prefix="radrl-model-") as folder:
            model = policy_models.save(path, params, arm, Path(folder))
            told = {"experiment": self._experiment(), "run": self._run, "arm": arm, "recipe": recipe}
            told["digest"] = self._digest(path).short
            self._attempt(lambda: policy_models.log(self._client, model, **told))

    def table(self, name: str, data: pd.DataFrame) -> None:
        """Keep texts and numbers of a table, its first `TABLE_ROWS` rows, where MLflow's pages show them."""
        shown = data.head(TABLE_ROWS).select_dtypes(["string", "number"]).astype(object)  # as MLflow asks
        self._tell(self._client.log_table, shown, f"{name}.json")

    def dataset(self, name: str, path: Path | None, context: str, data: Any = None) -> None:
        """Note an artifact of the pipeline by name, digest and columns, never by what is in it.

        Args:
            name: in the catalog.
            path: where it lies; nothing is noted of what lies nowhere.
            context: `read` or `written`.
            data: what was read or written.
        """
        if not self._run or path is None or not path.exists():
            return
        digest = self._digest(path)
        source = json.dumps({"uri": path.name, digest.kind: digest.value})
        if (name, digest.short) not in self._described:
            self._described[name, digest.short] = described(data)
        if context == "read":
            self._read.setdefault(self._run, {})[name] = digest.short
        self._input(name, digest.short, source, context, *self._described[name, digest.short])

    def _input(self, name: str, digest: str, source: str, context: str, *described: str | None) -> None:
        from mlflow.entities import Dataset, DatasetInput, InputTag

        entry = Dataset(name, digest, "local", source, *described)
        self._tell(self._client.log_inputs, [DatasetInput(entry, [InputTag("mlflow.data.context", context)])])

    def _tell(self, call: Callable[..., Any], *values: Any, **named: Any) -> bool:
        """Call with the open run; False where there is none, or a server did not take it."""
        if not self._run:
            return False
        run = self._run
        return self._attempt(lambda: call(run, *values, **named) or True) is not None

    def _attempt(self, call: Callable[[], _T]) -> _T | None:
        """What a call gives; None where a server fails after the first run was opened."""
        from mlflow.exceptions import MlflowException

        try:
            return call()
        except (MlflowException, OSError) as error:  # requests' errors are of the latter kind
            if not self._remote:
                raise
            if not self._runs:
                raise RecordError(f"{error_line(self._uri, error)}. {MEND}") from error
            if self._run not in self._lost:
                _LOG.warning(
                    "%s. The stage goes on; what it computes lies in data/ all the same",
                    error_line(self._uri, error),
                )
            self._lost.add(self._run or "")
            return None

    def _experiment(self) -> str:
        if self._experiment_ is None:
            client = self._client  # which makes the data base, one process at a time, too
            with self._one_at_a_time():  # of two that set a tag at once, one fails over the other's row
                found = self._found_or_made()
                self._set_views(found)
                killed_runs.close(client, str(found.experiment_id))
                parent_runs.close_abandoned(client, str(found.experiment_id))
            if self._remote and on_this_machine(found.artifact_location):
                _LOG.warning(
                    "experiment %s at %s keeps files in %s, a folder of the machine that writes them. Mend: "
                    "name a new experiment in conf/local/mlflow.yml, whose files the server then takes",
                    found.name,
                    shown(self._uri),
                    found.artifact_location,
                )
            self._experiment_ = str(found.experiment_id)
        return self._experiment_

    def _set_views(self, experiment: Experiment) -> None:
        views = tags(self._conf.get("headline", ()), self._conf.get("watched", ""))
        for key, value in views.items():
            if experiment.tags.get(key) != value:
                self._client.set_experiment_tag(experiment.experiment_id, key, value)

    def _found_or_made(self) -> Experiment:
        from mlflow.exceptions import MlflowException

        name = self._conf["experiment"]
        found = self._client.get_experiment_by_name(name)
        if not found:
            # a path of this machine means nothing to a server, which knows where its files go
            own = None if self._remote else (self._root / self._conf["artifacts"]).as_uri()
            try:
                made = self._client.create_experiment(name, artifact_location=own)
                return self._client.get_experiment(made)
            except MlflowException:  # a stage beside this one was first
                found = self._client.get_experiment_by_name(name)
                if not found:
                    raise
        return found


def _flatten(prefix: str, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, Mapping):
        return [pair for key, inner in value.items() for pair in _flatten(f"{prefix}.{key}", inner)]
    return [(prefix, value)]
