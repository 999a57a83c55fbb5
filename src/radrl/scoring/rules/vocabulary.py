"""What the reading of a report knows by name: findings and organs.

One phrase a line, ``a|b`` for alternative words, matched on the rule labeler's folded tokens (no plurals).
A finding that is not here goes by the name of its observation (`OBSERVATION_NAMES`).
"""

from __future__ import annotations

from typing import Final

OBSERVATION_NAMES: Final[dict[str, str]] = {
    "Enlarged Cardiomediastinum": "enlarged cardiomediastinum",
    "Cardiomegaly": "cardiomegaly",
    "Lung Opacity": "opacity",
    "Lung Lesion": "nodule",
    "Edema": "edema",
    "Consolidation": "consolidation",
    "Pneumonia": "pneumonia",
    "Atelectasis": "atelectasis",
    "Pneumothorax": "pneumothorax",
    "Pleural Effusion": "pleural effusion",
    "Pleural Other": "pleural thickening",
    "Fracture": "fracture",
    "Support Devices": "device",
}
"""Names of what the labeler's lexicon alone knows."""

GENERIC: Final = "acute abnormality"
"""Stands for its subject's abnormality ("the bones show no acute abnormality"), alone for the chest's."""
WHOLE_CHEST: Final = "acute cardiopulmonary abnormality"

FINDINGS: Final[dict[str, str]] = {
    "pleural effusion": """
        pleural effusion|fluid
        pleural fluid collection
        pleural effusion collection
        parapneumonic effusion""",
    "blunted costophrenic angle": """
        blunting|blunted
        blunting of the costophrenic angle|sulcus|recess
        blunting of the left|right|lateral|posterior costophrenic angle|sulcus|recess
        costophrenic angle|sulcus blunting|blunted
        costophrenic angle|sulcus is|are|appear blunted""",
    "opacity": """
        airspace|alveolar|parenchymal|lung|pulmonary opacity|opacification
        air space opacity|opacification|disease|process
        density
        increased|abnormal|hazy|patchy|vague|focal|streaky|linear|basilar|increased density""",
    "interstitial opacity": """
        interstitial disease|process|thickening|pattern|change|infiltrate|opacity|prominence|density
        interstitial lung disease
        interstitial marking
        increased|prominent|coarse|coarsened|chronic|accentuated interstitial|lung|bronchovascular marking
        chronic interstitial change|disease
        interstitial marking are|is increased|prominent|coarse|coarsened|accentuated
        prominence|coarsening of the interstitium|interstitial
        prominence|coarsening of the interstitial|lung|bronchovascular marking
        reticular|reticulonodular pattern|marking|change|opacity
        reticulation
        honeycombing""",
    "consolidation": """
        airspace|alveolar|parenchymal|lung|pulmonary|lobar consolidation
        air space consolidation""",
    "edema": """
        pulmonary|interstitial|alveolar edema|oedema
        pulmonary interstitial|alveolar edema
        interstitial pulmonary edema""",
    "heart failure": """
        heart|cardiac failure
        congestive heart|cardiac failure
        chf
        cardiac decompensation""",
    "vascular congestion": """
        vascular|venous|pulmonary congestion|engorgement|prominence|indistinctness|redistribution
        pulmonary vascular|venous congestion|engorgement|prominence|redistribution|hypertension
        central vascular|venous congestion|engorgement|prominence
        central pulmonary vascular|venous congestion|engorgement|prominence
        prominence|engorgement of the vasculature|vascularity
        prominence|engorgement of the pulmonary vasculature|vascularity
        prominence|engorgement of the central pulmonary vasculature|vascularity
        congestion
        cephalization
        fluid|volume overload""",
    "volume loss": "volume loss\nloss of volume",
    "bronchovascular crowding": """
        bronchovascular|vascular crowding
        crowding of the bronchovascular|pulmonary|vascular structure|marking|vasculature
        crowding""",
    "mass": """
        mass
        lump
        mass like|masslike opacity|density|consolidation|opacification
        pulmonary|lung|hilar|mediastinal|paratracheal mass
        mass lesion""",
    "malignancy": """
        carcinoma|neoplasm|malignancy|tumor|tumour|metastasis|metastatic
        neoplastic process
        lung|bronchogenic cancer
        metastatic disease""",
    "nodule": """
        pulmonary|lung|noncalcified|parenchymal nodule
        noncalcified pulmonary|lung nodule
        nodular opacity|density|lesion|focus|shadow|opacification
        lesion
        cystic|focal lesion""",
    "granuloma": """
        granuloma|granulomata|granulomatous
        calcified granuloma|granulomata
        calcified nodule
        calcified pulmonary|lung|parenchymal nodule|granuloma
        granulomatous disease|change|infection|process|calcification
        calcified granulomatous disease|change
        tuberculous|tuberculosis|histoplasmosis infection""",
    "tuberculosis": "tuberculosis\ntuberculous disease|change\ntb",
    "calcification": "calcification|calcified|calcific",
    "calcified lymph node": """
        calcified lymph node
        calcified hilar|mediastinal|paratracheal|perihilar lymph node
        calcified hilar|mediastinal|paratracheal|perihilar node
        calcified hilar|mediastinal and mediastinal|hilar lymph node
        lymph node calcification""",
    "atherosclerosis": """
        atherosclerosis|atherosclerotic
        atherosclerotic disease|change|calcification|vascular
        atherosclerotic vascular calcification|disease
        aortic|vascular|arch|coronary calcification|atherosclerosis
        aortic arch|knob calcification
        coronary artery calcification
        calcified|calcific aorta
        calcified|calcific aortic arch|knob
        calcified thoracic aorta
        calcification of the aorta
        calcification of the abdominal aorta
        abdominal aortic calcification
        calcification of the thoracic aorta
        calcification of the aortic arch|knob
        aortic disease""",
    "tortuous aorta": """
        tortuous|tortuosity|unfolded|unfolding|ectatic|ectasia
        tortuous|ectatic|unfolded aorta
        tortuous|ectatic thoracic|descending aorta
        tortuosity|ectasia|unfolding of the aorta
        tortuosity|ectasia|unfolding of the thoracic|descending aorta
        aortic tortuosity|ectasia
        tortuous and ectatic|calcified""",
    "aneurysm": "aneurysm|aneurysmal\naortic aneurysm",
    "scarring": """
        scar|scarring
        parenchymal|fibrotic|pulmonary|fibronodular scar|scarring
        fibrotic change
        fibrosis
        pulmonary|parenchymal fibrosis""",
    "pleural thickening": """
        pleural thickening|scar|scarring
        apical pleural thickening|capping|cap|scar|scarring
        apical capping|cap
        pleural based thickening
        thickening of the pleura""",
    "pleural plaque": """
        plaque
        pleural plaque|calcification
        calcified pleural plaque
        pleural based calcification""",
    "fracture": """
        rib|clavicle|clavicular|vertebral|humeral|scapular|sternal|compression fracture
        compression fracture|deformity
        vertebral compression fracture|deformity
        wedge|compression|wedging deformity
        vertebral body compression fracture|deformity
        wedging
        vertebral body wedging""",
    "chronic change": "chronic change\nchronic lung|pulmonary change|disease",
    "deformity": "deformity\nrib|posttraumatic|clavicular deformity",
    "dislocation": "dislocation|subluxation",
    "degenerative change": """
        degenerative|degeneration
        degenerative change|disease|spurring|osteophyte|osteophytosis|spondylosis
        degenerative disc|joint|endplate disease|change
        degenerative bony|osseous change
        spondylosis|osteophyte|osteophytosis|arthropathy|arthritis|arthritic|osteoarthritis|spurring
        osteoarthritic change
        thoracic spondylosis
        arthritic change
        hypertrophic|productive|senescent change|spurring
        disc disease
        disc space narrowing""",
    "osteopenia": "osteopenia|osteopenic|osteoporosis|osteoporotic|demineralization|demineralized",
    "scoliosis": """
        scoliosis|scoliotic|dextroscoliosis|levoscoliosis|dextrocurvature|levocurvature|curvature
        dextro|levo scoliosis|curvature""",
    "kyphosis": "kyphosis|kyphotic",
    "emphysema": """
        emphysema|emphysematous|bulla|bullous
        emphysematous|bullous change|disease|emphysema
        copd
        obstructive lung|pulmonary|airway disease
        chronic obstructive lung|pulmonary|airway disease""",
    "subcutaneous emphysema": "subcutaneous emphysema|air|gas\nsoft tissue emphysema|gas",
    "hyperinflation": """
        hyperinflation|hyperinflated|hyperexpansion|hyperexpanded|hyperaeration|hyperaerated
        overexpanded|overinflated|overexpansion|overinflation
        flattening|flattened
        flattening of the diaphragm|hemidiaphragm
        flattened diaphragm|hemidiaphragm
        air trapping""",
    "low lung volumes": """
        low|decreased|small|reduced|diminished|shallow lung volume
        lung volume is|are|remain|appear low|decreased|small|reduced|diminished
        lung volume low|decreased|small|reduced
        hypoinflation|hypoinflated|hypoventilation|hypoventilated|hypoventilatory|underinflated|underinflation
        hypoventilatory change
        shallow|poor|low|decreased|suboptimal inspiration
        shallow|poor|low|decreased|suboptimal inspiratory effort
        decreased|poor|low inspiratory volume""",
    "elevated diaphragm": """
        elevation|elevated|eventration
        elevation|eventration of the diaphragm|hemidiaphragm
        elevated diaphragm|hemidiaphragm""",
    "hernia": "hernia\nhiatal|hiatus|diaphragmatic hernia",
    "free air": """
        free air
        free intraperitoneal|subdiaphragmatic|peritoneal air|gas
        subdiaphragmatic free air
        pneumoperitoneum""",
    "pneumomediastinum": "pneumomediastinum",
    "bronchiectasis": "bronchiectasis|bronchiectatic\nbronchiectatic change",
    "bronchial thickening": """
        peribronchial|bronchial thickening|cuffing
        bronchial wall thickening
        cuffing
        bronchitis|bronchiolitis|bronchospasm|asthma
        bronchitic change
        airway disease
        reactive|small airway disease""",
    "cavity": "cavitary lesion|process\ncavitation|cavity|cavitary",
    "inflammation": "inflammation|inflammatory\ninflammatory change|process",
    "aspiration": "aspiration",
    "contusion": "contusion\npulmonary contusion",
    "hemorrhage": "hemorrhage|hematoma",
    "pericardial effusion": "pericardial effusion",
    "hilar enlargement": """
        hilar|bihilar|perihilar enlargement|prominence|fullness|widening
        prominence|enlargement|fullness of the hilum|hila
        prominence|enlargement|fullness of the right|left hilum""",
    "lymphadenopathy": """
        adenopathy|lymphadenopathy
        hilar|mediastinal adenopathy|lymphadenopathy
        hilar|mediastinal lymph node enlargement
        enlarged lymph node""",
    "mediastinal shift": """
        mediastinal|midline|tracheal shift|deviation
        shift of the mediastinum|trachea
        shift of mediastinal structure""",
    "foreign body": "foreign body|object\nbullet\nbullet fragment",
    "surgical change": """
        postsurgical|postoperative|surgical|postop change
        post surgical|operative change
        cabg
        bypass surgery
        coronary artery bypass
        coronary artery bypass graft|surgery
        mastectomy|lobectomy|pneumonectomy|cholecystectomy""",
    "surgical clips": """
        clip
        surgical|cholecystectomy|cabg|mediastinal|epigastric|axillary clip
        surgical suture|staple|material
        suture|staple""",
    "sternotomy": """
        sternotomy
        median sternotomy
        sternotomy|sternal|cerclage wire
        median sternotomy wire
        sternal cerclage wire""",
    "endotracheal tube": "endotracheal|et|ett tube\nett",
    "tracheostomy": "tracheostomy\ntracheostomy tube|cannula",
    "enteric tube": """
        nasogastric|enteric|orogastric|feeding|ng|og|dobbhoff|gastrostomy tube""",
    "chest tube": "chest|thoracostomy|pleural tube|drain|catheter\npigtail catheter",
    "central line": """
        picc|portacath|mediport|chemoport
        picc line|catheter
        port a cath
        chest port
        central|venous|subclavian|jugular|ij|hemodialysis|dialysis line|catheter
        central venous|vascular line|catheter
        internal jugular line|catheter
        internal jugular central line
        internal jugular central venous line|catheter
        internal jugular venous catheter
        subclavian central line
        subclavian central venous line|catheter
        subclavian|jugular venous catheter
        swan ganz
        swan ganz catheter""",
    "pacemaker": """
        pacer|pacemaker|icd|aicd|defibrillator
        pacemaker|pacer|defibrillator|icd|aicd lead|wire|generator|device
        pacing wire|lead|device
        cardiac|dual|lead|chamber|transvenous pacemaker
        dual chamber|lead pacemaker
        cardiac device
        epicardial pacing wire|lead""",
    "valve": """
        prosthetic|replacement|mechanical|artificial|bioprosthetic valve
        prosthetic aortic|mitral|cardiac valve
        valve replacement""",
    "stent": "stent\ncoronary|vascular stent",
    "bone abnormality": """
        bony|osseous|skeletal|bone|osseus|rib abnormality|finding|lesion|process|injury|change|disease
        destructive bony|osseous lesion|process
        bone destruction
        acute|active bone|bony|osseous|skeletal abnormality|finding|lesion|process|injury|pathology""",
    "acute cardiopulmonary abnormality": """
        cardiopulmonary|cardiothoracic|intrathoracic|chest|thoracic|pulmonary|lung|cardiac abnormality|finding
        cardiopulmonary|cardiothoracic|intrathoracic|chest|thoracic|cardiac process|disease|pathology
        pulmonary|lung|pleural process|disease|pathology|abnormality
        cardiopulmonary disease process
        cardiopulmonary radiographic abnormality|finding|process|disease
        radiographic cardiopulmonary abnormality|finding|process|disease
        acute pulmonary|chest|cardiac|thoracic|intrathoracic|lung abnormality|finding|disease|process
        acute cardiopulmonary|cardiothoracic abnormality|finding|disease|process|pathology|condition
        active cardiopulmonary|cardiothoracic|pulmonary|intrathoracic|chest disease|process|abnormality
        acute or active cardiac , pulmonary or pleural disease""",
    GENERIC: """
        acute|active|significant|preoperative disease|process|abnormality|finding|pathology
        acute radiographic|preoperative|interval abnormality|finding""",
    "soft tissue abnormality": """
        soft tissue abnormality|mass|swelling|finding
        soft tissue or bony|osseous abnormality|finding""",
    "abdominal abnormality": "abdominal abnormality|process|finding",
}
"""Findings by name; a phrase of more than one word swallows the words around the head."""

REVERSED: Final[dict[str, str]] = {
    "low lung volumes": """
        well|fully|normally|adequately inflated|expanded|aerated
        well inspired
        normal lung volume
        normal inspiration|inflation
        lung volume is|are normal
        expanded""",
    "acute cardiopulmonary abnormality": """
        normal|negative|unremarkable|clear chest
        normal|negative chest film|exam|examination|radiograph|xxxx|study
        normal|negative frontal and lateral chest
        normal|negative exam|examination|study
        normal chest x xxxx|ray
        negative chest x xxxx|ray
        chest is|appear normal|unremarkable|negative|clear
        normal heart and lung""",
    "mediastinal shift": "trachea is midline\ntrachea midline\nmidline trachea\ntrachea appear midline",
    "hyperinflation": "not hyperinflated",
}
"""Phrases whose assertion denies the finding ("well expanded")."""

ORGANS: Final[dict[str, str]] = {
    "lung abnormality": """
        lung
        lung field|zone|parenchyma
        lung and pleural space
        lung parenchyma
        lung base|apex
        remainder of the lung""",
    "pleural abnormality": "pleural space|surface|margin|recess\npleura",
    "blunted costophrenic angle": "costophrenic angle|sulcus|sulci|recess",
    "hilar enlargement": "hilum|hila\nhilar structure|contour|silhouette|region|xxxx",
    "vascular congestion": """
        pulmonary vascularity|vasculature|vessel
        pulmonary|central vascular marking|pattern|structure
        vascular marking
        vascularity|vasculature
        pulmonary xxxx""",
    "bone abnormality": """
        bone
        osseous|bony|skeletal|osseus structure
        osseous|bony structure of the chest|thorax
        bony|osseous thorax
        skeleton
        bony thoracic cage
        rib cage
        spine
        thoracic|cervical|lumbar|thoracolumbar spine
        bony skeleton""",
    "soft tissue abnormality": "soft tissue\nsoft tissue structure",
    "tortuous aorta": "aorta\nthoracic aorta\naortic contour|arch|knob|shadow",
    "diaphragm abnormality": "diaphragm|hemidiaphragm",
    "mediastinal shift": "trachea",
    "abdominal abnormality": "upper abdomen\nabdomen\nvisualized abdomen\nbowel gas pattern",
}
"""Organs whose normal or abnormal size or look is stated, by the finding that a normal one denies."""

ENLARGEABLE: Final = frozenset({"hilar enlargement", "vascular congestion"})
"""Organs' findings that "prominent" or "enlarged" asserts; of the others only normality is read."""

NORMAL_WORDS: Final = """
    clear|intact|sharp|midline|preserved|maintained
    clear and expanded
    well expanded|aerated|inflated and clear
    normally inflated|aerated|expanded and clear
    expanded and clear
    within normal xxxx
    without acute|significant abnormality
    without focal|acute|significant bony|osseous|bone abnormality
    free of disease
    show no acute abnormality
    unchanged and normal
    not engorged|enlarged"""
"""Words that state an organ's normality besides the labeler's."""

DENIALS: Final = """
    clear bilaterally of
    well|fully|normally expanded|aerated|inflated and clear of
    expanded and clear of
    free of any
    free of evidence of
    without evidence for
    xxxx negative for"""
"""Denials besides the labeler's."""

FAMILIES: Final[tuple[frozenset[str], ...]] = (
    frozenset({"opacity", "consolidation"}),
    frozenset({"opacity", "interstitial opacity"}),
    frozenset({"edema", "vascular congestion", "heart failure"}),
    frozenset({"nodule", "mass"}),
    frozenset({"mass", "malignancy"}),
    frozenset({"cardiomegaly", "enlarged cardiomediastinum"}),
    frozenset({"pleural effusion", "blunted costophrenic angle"}),
    frozenset({"atelectasis", "volume loss"}),
    frozenset({"emphysema", "hyperinflation"}),
    frozenset({"granuloma", "calcification"}),
    frozenset({"scarring", "pleural thickening"}),
    frozenset({"deformity", "fracture"}),
    frozenset({"acute cardiopulmonary abnormality", "lung abnormality"}),
    frozenset({"low lung volumes", "bronchovascular crowding"}),
    frozenset({"surgical change", "sternotomy", "surgical clips"}),
)
"""Findings that two readers may well call by each other's name."""

DEVICES: Final = frozenset(
    {
        "device",
        "endotracheal tube",
        "enteric tube",
        "tracheostomy",
        "chest tube",
        "central line",
        "pacemaker",
        "valve",
        "stent",
        "surgical clips",
        "sternotomy",
    }
)
"""Findings whose places are those of a tip or a lead and not of a disease."""

SIDELESS: Final = frozenset(
    {
        "cardiomegaly",
        "enlarged cardiomediastinum",
        "heart failure",
        "hyperinflation",
        "low lung volumes",
        "tortuous aorta",
        "atherosclerosis",
        "mediastinal shift",
        "pericardial effusion",
        "acute cardiopulmonary abnormality",
        "sternotomy",
        "degenerative change",
        "scoliosis",
        "kyphosis",
    }
)
"""Findings of which a side says nothing."""

PLACELESS: Final = DEVICES | SIDELESS - {"degenerative change", "scoliosis", "kyphosis"}
"""Findings of which a place says nothing."""

DENSITIES: Final = frozenset({"opacity", "interstitial opacity", "consolidation", "vascular congestion"})
"""Findings that "increased" describes without comparing ("increased opacity")."""

CALCIFIED: Final = (["calcified"], ["calcific"])
"""Findings of their own, but before another one its description."""
WHEN_CALCIFIED: Final = {"nodule": "granuloma"}
