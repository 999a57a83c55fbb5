"""The parts that come with radrl: by kind and name, where each is.

A part is imported when it is named, so that what an arm runs anew for is the modules of its own parts. To add
one, write a module and a line here.
"""

from __future__ import annotations

from typing import Final

BUILTIN: Final[dict[str, dict[str, str]]] = {
    "reward": {
        "ce_f1": "radrl.rewards.ce_f1:ClinicalF1",
        "bleu2": "radrl.rewards.bleu2:Bleu2",
        "nlg": "radrl.rewards.nlg:Nlg",
        "accuracy": "radrl.rewards.accuracy:Accuracy",
        "mccs": "radrl.rewards.mccs:Mccs",
        "format": "radrl.rewards.format:Format",
        "facts": "radrl.rewards.facts:facts",
        "weighted_findings": "radrl.rewards.weighted_findings:WeightedFindings",
        "radgraph_rules": "radrl.rewards.radgraph_rules:RadGraphRules",
        "green_rules": "radrl.rewards.green_rules:GreenRules",
        "length": "radrl.rewards.length:Length",
        "radgraph": "radrl.rewards.radgraph:RadGraph",
        "radeval": "radrl.rewards.radeval:RadEval",
        "green": "radrl.rewards.green:Green",
        "sentence_sets": "radrl.rewards.sentence_sets:SentenceSets",
        "repetition": "radrl.rewards.repetition:Repetition",
    },
    "credit": {
        "uniform": "radrl.credit.uniform:Uniform",
        "tf_idf": "radrl.credit.tf_idf:tf_idf",
        "gradient": "radrl.credit.gradient:gradient",
    },
    "selection": {
        "full": "radrl.selections.full:full",
        "random": "radrl.selections.random:random",
        "ddsampling": "radrl.selections.ddsampling:ddsampling",
        "most_diverse": "radrl.selections.most_diverse:most_diverse",
        "balanced": "radrl.selections.balanced:balanced",
    },
    "source": {
        "phantom": "radrl.data.sources.phantom:phantom",
        "csv": "radrl.data.sources.csv:csv",
        "iu_xray": "radrl.data.sources.iu_xray:iu_xray",
        "mimic_cxr": "radrl.data.sources.mimic_cxr:mimic_cxr",
        "chexpert_plus": "radrl.data.sources.chexpert_plus:chexpert_plus",
        "rexgradient": "radrl.data.sources.rexgradient:rexgradient",
        "padchest_gr": "radrl.data.sources.padchest_gr:padchest_gr",
    },
    "metric": {
        "ce": "radrl.scoring.clinical:ClinicalEfficacy",
        "nlg": "radrl.scoring.nlg:Nlg",
        "radgraph_rules": "radrl.scoring.rules.graph:RadGraphRules",
        "green_rules": "radrl.scoring.rules.errors:GreenRules",
        "weighted_findings": "radrl.scoring.weighted_findings.score:WeightedFindings",
        "radgraph": "radrl.scoring.radgraph:RadGraph",
        "green": "radrl.scoring.green:green_by",
        "radeval": "radrl.scoring.radeval:RadEval",
        "radmatch": "radrl.scoring.radmatch:RadMatch",
    },
    "labeler": {
        "rules": "radrl.labelers.rules.labeler:rules",
        "chexbert": "radrl.labelers.chexbert.published:chexbert",
        "chexbert_compact": "radrl.labelers.chexbert.compact:chexbert_compact",
    },
    "judge": {
        "endpoint": "radrl.scoring.judge.endpoint:endpoint",
        "folder": "radrl.scoring.judge.folder:folder",
    },
    "extractor": {
        "rules": "radrl.scoring.facts.rules:RulesExtractor",
        "judge": "radrl.scoring.facts.judge:JudgeExtractor",
    },
    "entailment": {
        "rules": "radrl.scoring.facts.rules:RulesEntailment",
        "judge": "radrl.scoring.facts.judge:JudgeEntailment",
        "labeler": "radrl.scoring.facts.labeler:LabelerEntailment",
    },
}
"""By kind (`radrl.parts.kinds`), the name in params.yaml and ``module:object``."""
