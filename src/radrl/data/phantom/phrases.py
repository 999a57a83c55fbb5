"""The phantom radiologist's phrases.

The slots in braces are filled by `radrl.data.phantom.wording`. A sentence states its own observation and no
other.
"""

from __future__ import annotations

from typing import Final

SURE: Final[dict[str, tuple[str, ...]]] = {
    "Enlarged Cardiomediastinum": (
        "The mediastinum is {degree}ly widened.",
        "There is {degree} widening of the mediastinum.",
        "{degree} mediastinal widening is noted.",
        "The mediastinal silhouette is widened.",
    ),
    "Cardiomegaly": (
        "The heart is {degree}ly enlarged.",
        "Heart size is {degree}ly enlarged.",
        "There is {degree} cardiomegaly.",
        "{degree} cardiomegaly is present.",
        "{degree} cardiomegaly is noted.",
        "The cardiac silhouette is {degree}ly enlarged.",
    ),
    "Lung Opacity": (
        "There is {a_faintness} opacity {place}.",
        "{faintness} opacity is seen {place}.",
        "{faintness} airspace opacity is present {place}.",
        "There is {a_faintness} airspace opacity {place}.",
        "{faintness} opacity {place} is noted.",
    ),
    "Lung Lesion": (
        "There is a {measure} {lesion} {place}.",
        "A {measure} {lesion} is seen {place}.",
        "A {measure} {lesion} is present {place}.",
        "A {lesion} {place} measures {measure}.",
    ),
    "Edema": (
        "There is {degree} pulmonary edema.",
        "{degree} pulmonary edema is present.",
        "{degree} interstitial edema is noted.",
        "Engorged perihilar vessels are consistent with {degree} pulmonary edema.",
        "There is pulmonary vascular congestion with {degree} interstitial edema.",
        "Findings are compatible with {degree} pulmonary edema.",
    ),
    "Consolidation": (
        "There is {density} consolidation {lobe}.",
        "{density} consolidation is seen {lobe}.",
        "{density} consolidation is present {lobe}.",
        "{density} consolidation {lobe} is noted.",
    ),
    "Pneumonia": (
        "There is pneumonia {lobe}.",
        "Findings {lobe} are consistent with pneumonia.",
        "{lobar} pneumonia is present.",
        "{lobar} pneumonia is noted.",
    ),
    "Atelectasis": (
        "There is {amount} {basilar} atelectasis.",
        "{amount} {basilar} atelectasis is seen.",
        "{amount} {basilar} atelectasis is present.",
        "{amount} atelectasis is noted {place}.",
    ),
    "Pneumothorax": (
        "There is a {extent} {side} apical pneumothorax.",
        "A {extent} {side} pneumothorax is present.",
        "A {extent} {side} apical pneumothorax is seen.",
        "{extent} {side} pneumothorax is noted.",
    ),
    "Pleural Effusion": (
        "There {is_are} {a_extent} {side} pleural {effusion}.",
        "{extent} {side} pleural {effusion} {is_are} present.",
        "{extent} {side} pleural {effusion} {is_are} seen.",
        "{extent} {side} pleural {effusion} {is_are} noted.",
        "Blunting of the {side} costophrenic {angle} is consistent with {a_extent} pleural effusion.",
    ),
    "Pleural Other": (
        "There is {side} {pleural}.",
        "{side} {pleural} is noted.",
        "{side} {pleural} is seen.",
    ),
    "Fracture": (
        "There is a {displacement} fracture of a {side} {zone} rib.",
        "A {displacement} fracture of a {side} {zone} rib is seen.",
        "{displacement} {side} {zone} rib fracture is noted.",
    ),
}
"""Sentences for a finding that is surely there."""

HEDGED: Final[dict[str, tuple[str, ...]]] = {
    "Enlarged Cardiomediastinum": (
        "The mediastinum may be mildly widened.",
        "Mild mediastinal widening is possible.",
        "Mild widening of the mediastinum cannot be excluded.",
    ),
    "Cardiomegaly": (
        "The heart may be mildly enlarged.",
        "Mild cardiomegaly is possible.",
        "There is possible mild cardiomegaly.",
        "Mild cardiomegaly cannot be excluded.",
    ),
    "Lung Opacity": (
        "There is a possible faint opacity {place}.",
        "A faint opacity {place} cannot be excluded.",
        "There may be a faint opacity {place}.",
        "Questionable faint opacity {place}.",
    ),
    "Lung Lesion": (
        "There is a possible {measure} nodule {place}.",
        "A {measure} nodule {place} cannot be excluded.",
        "There may be a {measure} nodule {place}.",
    ),
    "Edema": (
        "Mild pulmonary edema cannot be excluded.",
        "Engorged perihilar vessels may represent mild pulmonary edema.",
        "There may be mild interstitial edema.",
        "Possible mild pulmonary edema.",
    ),
    "Consolidation": (
        "Possible consolidation {lobe}.",
        "Consolidation {lobe} cannot be excluded.",
        "There may be consolidation {lobe}.",
    ),
    "Pneumonia": (
        "Findings {lobe} may represent pneumonia.",
        "{lobar} pneumonia cannot be excluded.",
        "There is possible {lobar} pneumonia.",
        "Findings {lobe} are concerning for pneumonia.",
    ),
    "Atelectasis": (
        "Findings {place} may represent atelectasis.",
        "There is possible minimal {basilar} atelectasis.",
        "Minimal {basilar} atelectasis cannot be excluded.",
        "There may be minimal {basilar} atelectasis.",
    ),
    "Pneumothorax": (
        "A tiny {side} apical pneumothorax cannot be excluded.",
        "There is a possible tiny {side} apical pneumothorax.",
        "There may be a tiny {side} apical pneumothorax.",
    ),
    "Pleural Effusion": (
        "Blunting of the {side} costophrenic {angle} may represent a trace pleural effusion.",
        "There {is_are} possible trace {side} pleural {effusion}.",
        "Trace {side} pleural {effusion} cannot be excluded.",
        "There may be trace {side} pleural {effusion}.",
    ),
    "Pleural Other": (
        "There is possible {side} {pleural}.",
        "Mild {side} {pleural} cannot be excluded.",
        "There may be mild {side} {pleural}.",
    ),
    "Fracture": (
        "There is a possible nondisplaced fracture of a {side} {zone} rib.",
        "A nondisplaced {side} {zone} rib fracture cannot be excluded.",
        "There may be a nondisplaced {side} {zone} rib fracture.",
    ),
}
"""Sentences for a finding that is only suspected."""

PNEUMONIA_LINK: Final[dict[bool, tuple[str, ...]]] = {
    False: (", consistent with pneumonia.", ", compatible with pneumonia."),
    True: (", which may represent pneumonia.", ", concerning for pneumonia.", ", possibly pneumonia."),
}
"""Ends of a sentence about an opacity that is taken for pneumonia: surely, or (True) with a hedge."""

ATELECTASIS_LINK: Final[tuple[str, ...]] = (" with adjacent atelectasis.", " with overlying atelectasis.")
"""Ends of a sentence about an effusion that goes with atelectasis."""

DEVICES: Final[dict[str, tuple[str, ...]]] = {
    "endotracheal tube": (
        "The endotracheal tube terminates above the carina.",
        "Endotracheal tube tip is {centimetres} cm above the carina.",
        "An endotracheal tube is in standard position.",
    ),
    "enteric tube": (
        "An enteric tube courses below the diaphragm.",
        "The nasogastric tube ends in the stomach.",
        "Enteric tube tip is in the stomach.",
    ),
    "central line": (
        "A {side} internal jugular catheter ends in the superior vena cava.",
        "{side} internal jugular central venous catheter tip is in the lower SVC.",
        "{side} central venous catheter is in standard position.",
    ),
    "picc": (
        "A {side} PICC terminates in the SVC.",
        "{side} PICC line tip is in the lower SVC.",
        "There is a {side} PICC line in standard position.",
    ),
    "pacemaker": (
        "A {side} chest wall pacemaker is in place with leads in the right atrium and right ventricle.",
        "{side} pacemaker leads are in unchanged position.",
        "There is a {side} dual lead pacemaker.",
    ),
    "chest tube": (
        "A {side} chest tube is in place.",
        "{side} chest tube is in unchanged position.",
        "There is a {side} chest tube.",
    ),
    "valve": (
        "Median sternotomy wires and a prosthetic valve are noted.",
        "Patient is status post median sternotomy with a prosthetic valve.",
        "There is a prosthetic aortic valve with intact sternotomy wires.",
    ),
}
"""Sentences for a support device."""

# Observations a sentence denies at once, with their noun in a list of negations.
DENIALS: Final[tuple[tuple[tuple[str, str], ...], ...]] = (
    (("Pneumothorax", "pneumothorax"),),
    (("Pleural Effusion", "pleural effusion"),),
    (("Pleural Effusion", "pleural effusion"), ("Pneumothorax", "pneumothorax")),
    (
        ("Consolidation", "focal consolidation"),
        ("Pleural Effusion", "pleural effusion"),
        ("Pneumothorax", "pneumothorax"),
    ),
    (("Consolidation", "focal consolidation"),),
    (("Edema", "pulmonary edema"),),
    (("Consolidation", "focal consolidation"), ("Edema", "pulmonary edema")),
    (("Pneumonia", "pneumonia"),),
    (("Lung Lesion", "suspicious nodule"),),
    (("Lung Opacity", "focal opacity"),),
    (("Fracture", "displaced rib fracture"),),
    (("Fracture", "acute fracture"),),
)
DENIAL_WEIGHTS: Final = (2.0, 1.5, 8.0, 7.0, 2.0, 3.0, 1.5, 2.0, 0.8, 0.8, 1.2, 1.2)
DENY: Final[tuple[str, ...]] = (
    "There is no {list}.",
    "No {list}.",
    "No {list} is seen.",
    "There is no evidence of {list}.",
    "No evidence of {list}.",
    "No {list} is identified.",
)

NORMAL: Final[dict[str, tuple[str, ...]]] = {
    "Cardiomegaly": (
        "Heart size is normal.",
        "The heart is normal in size.",
        "The cardiac silhouette is normal in size.",
        "The heart size is within normal limits.",
    ),
    "Enlarged Cardiomediastinum": (
        "The mediastinal contours are normal.",
        "Mediastinal and hilar contours are unremarkable.",
        "The mediastinal silhouette is unremarkable.",
    ),
}
NORMAL_BOTH: Final[tuple[str, ...]] = (
    "Heart size and mediastinal contours are normal.",
    "The heart and mediastinal contours are within normal limits.",
    "The heart and mediastinum are unremarkable.",
)
CLEAR_LUNGS: Final[tuple[str, ...]] = (
    "The lungs are clear.",
    "Lungs are clear bilaterally.",
    "Both lungs are clear and well expanded.",
    "The lungs are well expanded and clear.",
)

TECHNIQUE: Final[dict[str, tuple[str, ...]]] = {
    "portable": (
        "Portable AP view of the chest was obtained.",
        "Single portable AP view of the chest.",
        "AP portable upright radiograph of the chest.",
        "AP chest radiograph.",
    ),
    "frontal": (
        "Frontal view of the chest was obtained.",
        "Single frontal view of the chest.",
        "PA view of the chest.",
    ),
    "lateral": (
        "PA and lateral views of the chest were obtained.",
        "Frontal and lateral views of the chest.",
        "PA and lateral views of the chest.",
    ),
}
COMPARISON: Final[dict[bool, tuple[str, ...]]] = {
    False: (
        "No prior studies are available for comparison.",
        "There are no prior radiographs for comparison.",
    ),
    True: (
        "Comparison is made to the prior study.",
        "In comparison with the study of ___, there is little change.",
        "As compared to the previous radiograph, there is no relevant change.",
    ),
}
"""By whether the patient has an earlier study."""
SHALLOW: Final[tuple[str, ...]] = (
    "Lung volumes are low.",
    "Low lung volumes are present.",
    "There are low lung volumes.",
)
BOILERPLATE: Final[tuple[str, ...]] = (
    "The osseous structures are intact.",
    "Visualized osseous structures are unremarkable.",
    "No acute osseous abnormality is seen.",
    "The visualized upper abdomen is unremarkable.",
    "There is no free air below the right hemidiaphragm.",
    "No free air is seen under the diaphragm.",
    "The patient is slightly rotated.",
    "The trachea is midline.",
    "The hila are unremarkable.",
    "Mild degenerative changes are seen in the thoracic spine.",
    "The soft tissues are unremarkable.",
)
MORE_BOILERPLATE: Final[tuple[str, ...]] = (
    "The thoracic spine is intact.",
    "No acute abnormality of the thoracic spine is seen.",
    "The osseous structures of the chest wall are unremarkable.",
    "No acute osseous abnormality is identified in the upper chest.",
    "The trachea is in midline position above the carina.",
    "The trachea and the carina are unremarkable.",
    "The upper trachea is normal in size.",
    "No abnormality of the trachea is noted.",
    "The thoracic aorta is normal in size.",
    "The aortic contours are within normal limits.",
    "No abnormality of the aorta is noted.",
    "The superior vena cava is unremarkable.",
    "The hilar contours are within normal limits.",
    "Both hila are normal in size and position.",
    "The right and left hila are in standard position.",
    "The left hemidiaphragm is in normal position.",
    "The right hemidiaphragm is slightly above the left.",
    "No abnormality of the diaphragm is noted.",
    "The stomach is in normal position.",
    "Air is seen in the stomach.",
    "No abnormality of the stomach is noted.",
    "There is no free air in the upper abdomen.",
    "No free air is identified under the right hemidiaphragm.",
    "The upper abdomen is within normal limits.",
    "The visualized structures of the upper abdomen are normal.",
    "Visualized structures of the left upper abdomen are unremarkable.",
    "Visualized structures of the right upper abdomen are unremarkable.",
    "No acute abnormality is seen in the visualized upper abdomen.",
    "The soft tissues of the chest wall are unremarkable.",
    "The visualized soft tissues are within normal limits.",
    "No abnormality of the soft tissues is identified.",
    "No air is seen in the soft tissues.",
    "The chest wall is unremarkable.",
    "The contours of the chest wall are normal.",
    "No abnormality of the chest wall is noted.",
    "The patient is in upright position.",
    "The radiograph was obtained in standard position.",
    "The position of the patient is standard.",
)
"""Further stock sentences, for reports in which few words carry findings. They state nothing, and have the
words of the other phrases, of which a vocabulary that was learned from shorter reports has whole tokens."""
TORTUOUS: Final = "The aorta is mildly tortuous."
"""Boilerplate for a patient whose aorta is."""
BONES: Final = frozenset({*BOILERPLATE[:3], *MORE_BOILERPLATE[:4]})
"""Boilerplate that may not stand beside a fracture."""
OTHER_FINDINGS: Final = frozenset({"Mild degenerative changes are seen in the thoracic spine."})
"""Boilerplate that tells of a finding beside the observations, one of those that CheXpert lists."""

IMPRESSION_NORMAL: Final[tuple[str, ...]] = (
    "No acute cardiopulmonary process.",
    "No acute cardiopulmonary abnormality.",
    "No acute intrathoracic process.",
    "No acute findings in the chest.",
)
IMPRESSION_SURE: Final[dict[str, tuple[str, ...]]] = {
    "Enlarged Cardiomediastinum": ("Widened mediastinum.", "{degree} mediastinal widening."),
    "Cardiomegaly": ("{degree} cardiomegaly.", "Cardiomegaly."),
    "Lung Opacity": ("{faintness} opacity {place}.", "Opacity {place}."),
    "Lung Lesion": ("{lesion} {place}.", "{measure} {lesion} {place}."),
    "Edema": ("{degree} pulmonary edema.", "Pulmonary edema."),
    "Consolidation": ("Consolidation {lobe}.", "{density} consolidation {lobe}."),
    "Pneumonia": ("{lobar} pneumonia.", "Pneumonia {lobe}."),
    "Atelectasis": ("{amount} {basilar} atelectasis.", "{basilar} atelectasis."),
    "Pneumothorax": ("{extent} {side} pneumothorax.", "{extent} {side} apical pneumothorax."),
    "Pleural Effusion": ("{extent} {side} pleural {effusion}.", "{side} pleural {effusion}."),
    "Pleural Other": ("{side} {pleural}.",),
    "Fracture": ("{displacement} {side} {zone} rib fracture.", "{side} rib fracture."),
}
IMPRESSION_HEDGED: Final[dict[str, tuple[str, ...]]] = {
    "Enlarged Cardiomediastinum": ("Possible mediastinal widening.",),
    "Cardiomegaly": ("Possible mild cardiomegaly.",),
    "Lung Opacity": ("Possible faint opacity {place}.",),
    "Lung Lesion": ("Possible nodule {place}.",),
    "Edema": ("Possible mild pulmonary edema.", "Mild pulmonary edema cannot be excluded."),
    "Consolidation": ("Possible consolidation {lobe}.",),
    "Pneumonia": ("Possible {lobar} pneumonia.", "{lobar} pneumonia cannot be excluded."),
    "Atelectasis": ("Possible {basilar} atelectasis.",),
    "Pneumothorax": ("Possible {side} pneumothorax.", "Tiny {side} pneumothorax cannot be excluded."),
    "Pleural Effusion": ("Possible trace {side} pleural {effusion}.",),
    "Pleural Other": ("Possible {side} {pleural}.",),
    "Fracture": ("Possible {side} rib fracture.",),
}
