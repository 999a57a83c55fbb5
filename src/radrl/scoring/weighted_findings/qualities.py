"""The words in which reports say where a finding is, how much of it, and how it has changed; data alone.

Phrases as in `radrl.scoring.weighted_findings.phrases`.
"""

from __future__ import annotations

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SIDES: Final[dict[str, str]] = {
    "": """
        compared|relative to|with the? left|right
        left|right main pulmonary artery
        left|right lateral view|film|projection|radiograph|image|decubitus
        normal|upper|within normal limit""",
    "left": "left|leftward\nleft sided\nlevoscoliosis|levocurvature\nlevo scoliosis|curvature",
    "right": "right|rightward\nright sided\ndextroscoliosis|dextrocurvature\ndextro scoliosis|curvature",
    "left right": """
        bilateral|bilaterally|both|bihilar
        right|left greater|worse|more|larger than right|left
        right and|or left
        left and|or right""",
}
"""Phrases by side; those under the empty one only look like a side."""

REGIONS: Final[dict[tuple[str, str], str]] = {
    ("", ""): """
        lower|upper|mid thoracic|cervical|lumbar|dorsal|abdomen|extremity|neck|back
        upper|lower limit
        at the? apex of the? heart
        cardiac apex""",
    ("", "upper_lobe"): "upper lobe",
    ("left", "upper_lobe"): "lul",
    ("right", "upper_lobe"): "rul",
    ("", "middle_lobe"): "middle lobe",
    ("right", "middle_lobe"): "right? middle lobe\nrml",
    ("left", "lingula"): "lingula|lingular\nlingular segment",
    ("", "lower_lobe"): "lower lobe",
    ("left", "lower_lobe"): "lll",
    ("right", "lower_lobe"): "rll",
    ("", "upper_lobe lower_lobe"): "upper and|or|, lower lobe\nlower and|or|, upper lobe",
    ("", "middle_lobe lower_lobe"): "middle and|or|, lower lobe\nlower and|or|, middle lobe",
    ("", "upper_lobe middle_lobe"): "upper and|or|, middle lobe\nmiddle and|or|, upper lobe",
    ("left", "upper_lobe lower_lobe"): "upper and left lower lobe\nlower and left upper lobe",
    ("right", "upper_lobe lower_lobe"): "upper and right lower lobe\nlower and right upper lobe",
    ("left", "middle_lobe lower_lobe"): "middle and left lower lobe",
    ("left", "middle_lobe upper_lobe"): "middle and left upper lobe",
    ("right", "middle_lobe lower_lobe"): "lower and right middle lobe",
    ("right", "middle_lobe upper_lobe"): "upper and right middle lobe",
    ("left right", "upper_lobe"): "upper and left|right upper lobe",
    ("left right", "lower_lobe"): "lower and left|right lower lobe",
    ("", "upper_zone"): "upper lung? zone|field|lung|thorax|hemithorax",
    ("", "mid_zone"): """
        mid|middle lung? zone|field|lung|thorax|hemithorax
        midlung
        midlung zone|field
        midthorax
        mid""",
    ("", "lower_zone"): "lower lung? zone|field|lung|thorax|hemithorax",
    ("", "base"): "lung? base\nbasilar|basal\nsubpulmonic",
    ("left right", "base"): "bibasilar|bibasal\nbi basilar|basal",
    ("", "apex"): "lung? apex\napical",
    ("left right", "apex"): "biapical\nbi apical",
    ("", "hilum"): "hilar|hilum|hila|hilus|suprahilar|infrahilar",
    ("", "perihilar"): "perihilar|parahilar",
    ("left right", "hilum"): "bihilar",
    ("", "retrocardiac"): "retrocardiac\nbehind the heart",
    ("", "periphery"): "peripheral|periphery|peripherally",
    ("", "costophrenic_angle"): "costophrenic|cp angle|sulcus|sulci|recess",
    ("", "fissure"): "fissure|fissural",
    ("right", "minor_fissure"): "minor|horizontal fissure",
    ("", "major_fissure"): "major|oblique fissure",
    ("", "mediastinum"): "mediastinum|mediastinal",
    ("", "paratracheal"): "paratracheal",
    ("", "subcarinal"): "subcarinal",
    ("", "aorta"): "aorta|aortic\nthoracic|descending|ascending|abdominal aorta",
    ("", "aortic_arch"): "aortic arch|knob|knuckle\ntransverse aorta",
    ("", "aorticopulmonary_window"): "ap|aorticopulmonary window",
    ("", "rib"): "rib|costal",
    ("", "clavicle"): "clavicle|clavicular",
    ("", "shoulder"): "shoulder|glenohumeral|acromioclavicular|glenoid|acromion\nac joint",
    ("", "humerus"): "humerus|humeral\nhumeral head",
    ("", "scapula"): "scapula|scapular",
    ("", "sternum"): "sternum|sternal|manubrium",
    (
        "",
        "spine",
    ): "spine|spinal|vertebra|vertebrae|vertebral|thoracolumbar|spinous|paraspinal\nvertebral body",
    (
        "",
        "cervical_spine",
    ): "cervical\nupper|mid|lower? cervical spine|vertebra|vertebrae|vertebral body?\nlower neck",
    ("", "thoracic_spine"): """
        midthoracic|dorsal
        upper|mid|middle|lower? thoracic|midthoracic|dorsal spine|vertebra|vertebrae|vertebral|spinal body?
        t1|t2|t3|t4|t5|t6|t7|t8|t9|t10|t11|t12""",
    (
        "",
        "lumbar_spine",
    ): "lumbar\nupper|mid|lower? lumbar spine|vertebra|vertebrae|vertebral body?\nl1|l2|l3|l4|l5",
    ("", "thoracic_spine lumbar_spine"): """
        thoracolumbar spine|junction
        thoracic and lumbar spine
        lower thoracic and upper lumbar spine?""",
    ("", "diaphragm"): "diaphragm|hemidiaphragm|diaphragmatic",
    ("", "chest_wall"): "chest wall",
    ("", "breast"): "breast",
    ("", "axilla"): "axilla|axillary",
    ("", "neck"): "neck",
    ("", "abdomen"): "abdomen|abdominal|epigastric|epigastrium\nleft|right upper? quadrant\nupper abdomen",
}
"""Phrases by the side and the regions that they name; those under nothing only look like a region."""

PAIRED: Final = _words("""
    bases apices hila hemidiaphragms diaphragms lobes zones fields angles sulci clavicles shoulders
""")
"""Plurals that say of a finding without a side that it is on both."""

LUNG: Final = _words("""
    upper_zone mid_zone lower_zone apex base upper_lobe middle_lobe lingula lower_lobe
""")
"""Lobes and zones of a lung."""

HINTS: Final[dict[str, str]] = {
    "node": "lymph? node|nodal\nlymph",
    "cartilage": "cartilage|costochondral\nfirst rib",
    "valve": "valve|valvular|annulus|annular",
    "coronary": "coronary\ncoronary artery",
    "vessel": "vessel|artery|vascular|vasculature|arterial|carotid",
    "soft_tissue": "soft tissue",
    "old": "old|healed|healing|remote|chronic|prior|previous|callus\ncallus formation",
    "raised": "increased",
    "pleura": "pleura|pleural",
    "heart": "heart|cardiac",
}
"""Words that make one concept another (`REFINED`) and are no region by themselves."""

REFINED: Final[tuple[tuple[str, str, str], ...]] = (
    ("calcification", "coronary", "coronary_calcification"),
    ("calcification", "valve", "valve_calcification"),
    ("calcification", "cartilage", "cartilage_calcification"),
    ("calcification", "aorta", "aortic_calcification"),
    ("calcification", "aortic_arch", "aortic_calcification"),
    ("calcification", "node", "calcified_lymph_node"),
    ("calcification", "vessel", "aortic_calcification"),
    ("calcification", "pleura", "pleural_calcification"),
    ("calcification", "soft_tissue", "soft_tissue_calcification"),
    ("calcification", "mediastinum", "calcified_lymph_node"),
    ("calcification", "hilum", "calcified_lymph_node"),
    ("calcification", "perihilar", "calcified_lymph_node"),
    ("calcification", "paratracheal", "calcified_lymph_node"),
    ("calcification", "subcarinal", "calcified_lymph_node"),
    ("calcification", "rib", "cartilage_calcification"),
    ("calcification", "upper_lobe", "calcified_granuloma"),
    ("calcification", "middle_lobe", "calcified_granuloma"),
    ("calcification", "lower_lobe", "calcified_granuloma"),
    ("calcification", "lingula", "calcified_granuloma"),
    ("calcification", "base", "calcified_granuloma"),
    ("calcification", "apex", "calcified_granuloma"),
    ("calcification", "upper_zone", "calcified_granuloma"),
    ("calcification", "mid_zone", "calcified_granuloma"),
    ("calcification", "lower_zone", "calcified_granuloma"),
    ("calcified_granuloma", "node", "calcified_lymph_node"),
    ("aortic_calcification", "coronary", "coronary_calcification"),
    ("adenopathy", "hilum", "hilar_adenopathy"),
    ("adenopathy", "mediastinum", "mediastinal_adenopathy"),
    ("adenopathy", "paratracheal", "mediastinal_adenopathy"),
    ("mass", "mediastinum", "mediastinal_mass"),
    ("mass", "paratracheal", "mediastinal_mass"),
    ("mass", "hilum", "hilar_mass"),
    ("mass", "pleura", "pleural_mass"),
    ("mass", "soft_tissue", "soft_tissue_mass"),
    ("fracture", "rib", "rib_fracture"),
    ("fracture", "clavicle", "clavicle_fracture"),
    ("fracture", "spine", "vertebral_fracture"),
    ("fracture", "thoracic_spine", "vertebral_fracture"),
    ("fracture", "lumbar_spine", "vertebral_fracture"),
    ("fracture", "cervical_spine", "vertebral_fracture"),
    ("fracture", "sternum", "sternal_fracture"),
    ("fracture", "humerus", "humerus_fracture"),
    ("fracture", "scapula", "scapula_fracture"),
    ("rib_fracture", "old", "old_rib_fracture"),
    ("clavicle_fracture", "old", "old_fracture"),
    ("sternal_fracture", "old", "old_fracture"),
    ("humerus_fracture", "old", "old_fracture"),
    ("scapula_fracture", "old", "old_fracture"),
    ("fracture", "old", "old_fracture"),
    ("degenerative_change", "spine", "degenerative_spine"),
    ("degenerative_change", "thoracic_spine", "degenerative_spine"),
    ("degenerative_change", "lumbar_spine", "degenerative_spine"),
    ("degenerative_change", "cervical_spine", "degenerative_spine"),
    ("degenerative_change", "shoulder", "degenerative_shoulder"),
    ("degenerative_change", "humerus", "degenerative_shoulder"),
    ("bone_abnormality", "rib", "bone_deformity"),
    ("bone_abnormality", "clavicle", "bone_deformity"),
    ("bone_abnormality", "humerus", "bone_deformity"),
    ("bone_abnormality", "scapula", "bone_deformity"),
    ("bone_abnormality", "sternum", "bone_deformity"),
    ("bone_deformity", "spine", "vertebral_fracture"),
    ("bone_deformity", "thoracic_spine", "vertebral_fracture"),
    ("bone_deformity", "lumbar_spine", "vertebral_fracture"),
    ("volume_loss", "spine", "vertebral_fracture"),
    ("lung_collapse", "upper_lobe", "lobar_collapse"),
    ("lung_collapse", "middle_lobe", "lobar_collapse"),
    ("lung_collapse", "lower_lobe", "lobar_collapse"),
    ("lung_collapse", "spine", "vertebral_fracture"),
    ("lung_lesion", "rib", "bone_lesion"),
    ("lung_lesion", "spine", "bone_lesion"),
    ("metastasis", "rib", "bone_lesion"),
    ("metastasis", "spine", "bone_lesion"),
    ("scarring", "pleura", "pleural_thickening"),
    ("hemidiaphragm_elevation", "hilum", "volume_loss"),
    ("hemidiaphragm_elevation", "minor_fissure", "volume_loss"),
    ("hemidiaphragm_elevation", "fissure", "volume_loss"),
)
"""(concept, region or hint, the concept that both together name), in order of precedence."""

IMPLIED: Final[dict[str, str]] = {
    "aortic_calcification": "aorta aortic_arch mediastinum",
    "coronary_calcification": "heart aorta",
    "tortuous_aorta": "aorta aortic_arch mediastinum",
    "aortic_dilation": "aorta mediastinum",
    "aortic_aneurysm": "aorta",
    "rib_fracture": "rib",
    "old_rib_fracture": "rib",
    "clavicle_fracture": "clavicle",
    "vertebral_fracture": "spine",
    "sternal_fracture": "sternum",
    "humerus_fracture": "humerus shoulder",
    "scapula_fracture": "scapula shoulder",
    "degenerative_spine": "spine",
    "osteophyte": "spine",
    "disc_disease": "spine",
    "scoliosis": "spine",
    "kyphosis": "spine",
    "degenerative_shoulder": "shoulder humerus",
    "hilar_adenopathy": "hilum",
    "hilar_mass": "hilum",
    "hilar_enlargement": "hilum perihilar",
    "mediastinal_adenopathy": "mediastinum",
    "mediastinal_mass": "mediastinum",
    "mediastinal_widening": "mediastinum",
    "mediastinal_shift": "mediastinum",
    "enlarged_cardiomediastinum": "mediastinum",
    "blunted_costophrenic_angle": "costophrenic_angle",
    "hemidiaphragm_elevation": "diaphragm",
    "flattened_diaphragm": "diaphragm",
    "eventration": "diaphragm",
    "hiatal_hernia": "retrocardiac diaphragm",
    "diaphragmatic_hernia": "diaphragm",
    "free_air": "diaphragm abdomen",
    "fissural_fluid": "fissure",
    "fissural_thickening": "fissure",
    "apical_cap": "apex",
    "sternotomy_wires": "sternum mediastinum",
    "prosthetic_valve": "aorta mediastinum",
    "spinal_hardware": "spine",
    "joint_prosthesis": "shoulder",
    "breast_implant": "breast",
    "mastectomy": "breast",
    "epicardial_fat": "mediastinum",
}
"""Regions that a concept names anyway, so that nothing is said by naming them again."""

SEVERITIES: Final[dict[int | None, str]] = {
    None: """
        small bowel|airway|airways
        small caliber|calibre
        large bore|bowel|airway
        mildly|slightly|minimally|markedly displaced|rotated
        mild|slight|minimal displacement|rotation
        most|more|less extensive|severe|marked|pronounced|prominent
        little changed|change""",
    0: "trace|tiny|minimal|minimally|subtle|borderline|minute|punctate|miniscule|faint",
    1: "small|slight|slightly|mild|mildly|minor|little\nlow grade",
    2: """
        moderate|moderately
        mild|mildly|small to moderate|moderately
        mild|small moderate
        moderate in size
        moderate sized""",
    3: """
        large|massive|gross|severe|severely|marked|markedly|extensive|extensively|huge
        substantial|sizeable|sizable|big|advanced|considerable
        very large
        moderate|moderately to severe|large|severely|marked|markedly
        moderate large""",
}
"""Phrases by rank (`finding.SEVERITIES`); those under None only look like one."""

DEGREES: Final = _words("""
    borderline minimally slightly mildly moderately markedly severely extensively massively
""")
"""Words of severity that say so within a concept's phrase as well ("diaphragm is mildly elevated")."""

CHANGES: Final[dict[str, str]] = {
    "": """
        left|right worse|larger than right|left
        ensure|document|confirm|demonstrate|show|until|to complete? resolution|clearing|improvement|stability
        new york
        since prior|previous
        increased translucency|lucency
        worse in|on|at""",
    "new": "new|newly|developed|developing\ninterval development\ndevelopment of\ninterval appearance",
    "increased": """
        increasing|increase|worsening|worsened|worse|progressed|progression|enlarging|larger|progressive
        more prominent|conspicuous|pronounced|extensive|confluent
        interval increase|increased|worsening|progression|enlargement
        increased in size|extent|conspicuity
        increased from|since|compared
        has|have increased""",
    "decreased": """
        decreased|decreasing|decrease|improved|improving|improvement
        smaller|diminished|resolving|clearing|regressed
        less prominent|conspicuous|pronounced|extensive
        less|better than
        better
        partially|nearly|mostly|largely|incompletely resolved|cleared
        near|nearly complete resolution|clearing
        almost|near|nearly completely resolved|cleared
        interval? partial resolution|clearing
        interval decrease|improvement|clearing""",
    "resolved": """
        resolved|cleared|resolution|removed|removal
        interval complete? resolution|removal
        complete resolution
        no longer
        is|are out
        withdrawn|pulled""",
    "unchanged": """
        unchanged|stable|persistent|persistently|persist|similar|again|constant|stably
        redemonstrated|redemonstration
        continued|continue
        essentially|grossly|relatively|largely unchanged|stable
        no|without significant|interval|definite? interval? change|increase|decrease
        no|without significant|interval|definite? interval? worsening|progression|improvement
        no|without substantial|appreciable|short interval? change|increase|decrease
        no|without substantial|appreciable|short interval? worsening|progression|improvement
        no|without significant|interval|definite|substantial|appreciable|short? interval? change in|of
        not significantly|appreciably|substantially? changed
        has|have not significantly|appreciably|substantially? changed
        little|hardly changed
        much? as before
        little change
        not changed""",
}
"""Phrases by change; those under the empty one only look like one."""

COMPARISONS: Final = _words("compared comparison prior previous previously since interval interim")
"""Words that make any "increased" of their sentence a comparison."""

DENSITIES: Final = frozenset(
    {
        "lung_opacity",
        "airspace_opacity",
        "interstitial_pattern",
        "interstitial_lung_disease",
        "consolidation",
        "vascular_congestion",
        "hyperinflation",
        "hyperlucency",
        "kyphosis",
    }
)
"""Concepts that "increased" before them only describes ("increased opacity")."""

TIPS: Final[dict[str, str]] = {
    "carina": "carina",
    "below_carina": "below|beyond|past|beneath|distal the? carina\ndistal to the? carina",
    "right_main_bronchus": """
        right main|mainstem stem? bronchus?
        right upper|middle|lower? lobe? bronchus
        bronchus intermedius""",
    "left_main_bronchus": "left main|mainstem stem? bronchus?\nleft upper|lower? lobe? bronchus",
    "thoracic_inlet": "thoracic inlet",
    "superior_vena_cava": """
        svc|cava
        mid|distal|proximal|lower|upper|low|high|central? svc
        mid|distal|proximal|lower|upper|low|high? superior vena cava
        svc brachiocephalic confluence|junction
        above|proximal the? cavoatrial|atriocaval junction
        proximal to the? cavoatrial|atriocaval junction
        brachiocephalic svc confluence|junction""",
    "cavoatrial_junction": """
        where the? svc meet|join|enter the? right atrium
        where the? superior vena cava meet|join|enter the? right atrium
        cavoatrial|atriocaval junction
        cavo|caval atrial junction
        svc right? ra|atrial|atrium junction
        svc / right? ra|atrial|atrium junction
        superior vena cava / right? atrial|atrium junction
        superior vena cava right? atrial|atrium junction
        svc and right atrium junction
        superior cavoatrial junction""",
    "brachiocephalic_vein": "left|right? brachiocephalic|innominate vein?",
    "subclavian_vein": "left|right? subclavian vein",
    "jugular_vein": "left|right? internal|external? jugular vein",
    "axillary_vein": "left|right? axillary vein",
    "azygos_vein": "azygos vein|arch?",
    "inferior_vena_cava": "ivc\ninferior vena cava",
    "right_atrium": """
        right atrium|atrial
        upper|high|proximal|mid|deep right atrium
        below|beyond|past|beneath|distal the? cavoatrial|atriocaval junction
        distal to the? cavoatrial|atriocaval junction""",
    "right_ventricle": "right ventricle|ventricular\nright ventricular apex|outflow tract?",
    "left_ventricle": "left ventricle|ventricular",
    "coronary_sinus": "coronary sinus",
    "pulmonary_artery": "left|right|main? main? pulmonary artery|outflow tract?\npulmonary outflow tract",
    "trachea": "trachea|intratracheal\nmid|distal|proximal|lower|upper|midthoracic trachea",
    "esophagus": """
        esophagus
        mid|distal|proximal|lower|upper esophagus
        above|proximal the? ge|gastroesophageal|esophagogastric junction
        proximal to the? ge|gastroesophageal|esophagogastric junction
        short of the? stomach|gastroesophageal|ge|esophagogastric junction?""",
    "gastroesophageal_junction": "ge|gastroesophageal|esophagogastric junction",
    "stomach": """
        stomach
        gastric body|fundus|antrum|lumen|bubble
        below|beyond|past|beneath|distal the? ge|gastroesophageal|esophagogastric junction
        distal to the? ge|gastroesophageal|esophagogastric junction""",
    "duodenum": "duodenum|duodenal|pylorus|postpyloric\npost pyloric",
    "jejunum": "jejunum|jejunal",
    "below_diaphragm": """
        below|beneath|under|past|beyond the? diaphragm|hemidiaphragm
        below|off the? film|image|xxxx|field""",
}
"""Places where a line or tube may end, by their names in `regions.csv`."""

LINKS: Final = """
    represent|representing|reflect|reflecting|suggest|suggesting|suggestive|indicate|indicating
    consistent|compatible
    in? keeping with
    concerning|suspicious|worrisome|likely|probably|possibly
    due|secondary|related to
    adjacent|overlying|underlying|associated|accompanying|compressive|passive|ipsilateral"""
"""Words by which one finding points to the next, which lies where it lies."""

PREPOSITIONS: Final = """
    in|at|within|over|overlying|along|near|throughout|on|involving|projecting|projected
    overlie|overly"""
"""Words whose side or place belongs to what precedes."""

ENDINGS: Final = "of|to|from|by|into|above|below|under|for"
"""Other words that end a noun phrase."""

AMOUNTS: Final = _words("""
    amount degree area areas focus foci region collection evidence loss component change multiple level
    portion aspect type element
""")
"""Nouns whose "of" leads on to the finding ("small amount of pleural fluid")."""

ENLARGED_WORDS: Final = "engorged|indistinct|plethoric|congested|full|dilated"
"""Words that state an organ's enlargement besides the labeler's."""

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
    without abnormality
    show no acute abnormality
    unchanged and normal
    not engorged|enlarged"""
"""Words that state an organ's normality besides the labeler's."""

HEDGES: Final = """
    most|very|quite? likely
    most|very|quite? likely represent|representing|reflect|reflecting
    most|very|quite? likely due|secondary|related to"""
"""Hedges besides the labeler's, which follows CheXpert in taking "likely" for a statement."""

HEDGES_BACK: Final = "is|are most|very|quite? likely"

REMOVALS: Final = "is|are out\nhas|have been withdrawn|pulled\nwas|were withdrawn|pulled"
"""Denials that follow, besides the labeler's."""

NO_DENIALS: Final = """
    not|never without|lacking
    not|never free|clear|devoid of|from
    not negative for
    not|never absent
    no absence|lack|resolution|disappearance|clearance|clearing|removal of
    not the? case|true|so that there is|are no
    cannot be said that there is|are no
    do|does|did not lack"""
"""Phrases that deny a denial, which is none."""

DENIALS: Final = """
    clear bilaterally of
    well|fully|normally expanded|aerated|inflated and clear of
    expanded and clear of
    free of any
    free of evidence of
    without evidence for
    xxxx negative for"""
"""Denials besides the labeler's."""

OPACITIES: Final = _words("""
    lung_opacity airspace_opacity ground_glass_opacity consolidation interstitial_pattern nodule
    blunted_costophrenic_angle bone_deformity
""")
"""Looks that a diagnosis behind a comma explains ("opacity at the left base, likely atelectasis")."""

BLUNTING: Final = frozenset({"pleural_effusion", "loculated_effusion", "pleural_thickening", "scarring"})
"""What blunts a costophrenic angle."""

EXPLANATIONS: Final = _words("""
    atelectasis linear_atelectasis lobar_collapse scarring pneumonia aspiration consolidation
    airspace_opacity pulmonary_edema interstitial_edema pleural_effusion pleural_thickening granuloma
    calcified_granuloma contusion malignancy nodule mass pulmonary_fibrosis epicardial_fat fracture
    rib_fracture nipple_shadow
""")
"""What explains them."""

SIDELESS: Final = _words("""
    acute_disease enlarged_cardiomediastinum mediastinal_widening cardiomegaly chamber_enlargement
    pericardial_effusion heart_failure pulmonary_hypertension tortuous_aorta aortic_dilation
    aortic_aneurysm aortic_calcification coronary_calcification valve_calcification
    low_lung_volumes copd degenerative_spine osteophyte disc_disease osteopenia kyphosis
    vertebral_fracture sternotomy_wires free_air granulomatous_disease pectus_deformity
    postsurgical_change bone_abnormality endotracheal_tube tracheostomy_tube enteric_tube
    nasogastric_tube feeding_tube intra_aortic_balloon_pump
""")
"""Concepts of which a side says nothing."""

PLACELESS: Final = SIDELESS - _words("""
    endotracheal_tube tracheostomy_tube enteric_tube nasogastric_tube feeding_tube intra_aortic_balloon_pump
    degenerative_spine osteophyte disc_disease vertebral_fracture osteopenia kyphosis
    granulomatous_disease
""") | {"hyperinflation", "hiatal_hernia"}
"""Concepts of which a place says nothing."""

MISPLACED: Final[dict[str, frozenset[str]]] = {
    "endotracheal_tube": frozenset({"right_main_bronchus", "left_main_bronchus", "esophagus"}),
    **dict.fromkeys(
        ("enteric_tube", "nasogastric_tube", "feeding_tube"),
        _words("""
    right_main_bronchus left_main_bronchus trachea carina esophagus gastroesophageal_junction
"""),
    ),
}
"""By tube the places where its tip must not be, so that the tube is malpositioned."""

BELOW_CARINA: Final[dict[str, str]] = {
    "endotracheal_tube": "right_main_bronchus",
    "tracheostomy_tube": "right_main_bronchus",
    **dict.fromkeys(("enteric_tube", "nasogastric_tube", "feeding_tube"), "esophagus"),
}
"""By tube where it is that ends below the carina; of a venous line that is said for the vena cava."""

WIDE: Final = frozenset({"esophagus", "stomach", "superior_vena_cava", "right_atrium"})
"""Places that no distance is measured from: what is measured is the way to where two of them meet."""

VENOUS: Final = _words("""
    superior_vena_cava cavoatrial_junction brachiocephalic_vein subclavian_vein jugular_vein azygos_vein
    axillary_vein
""")
"""Places where only a central venous line ends, whatever it is called."""

WITH_TIPS: Final = _words("""
    endotracheal_tube tracheostomy_tube enteric_tube nasogastric_tube feeding_tube gastrostomy_tube
    central_line picc port dialysis_catheter pulmonary_artery_catheter chest_tube mediastinal_drain
    cardiac_device pacemaker defibrillator intra_aortic_balloon_pump ventricular_assist_device
    ecmo_cannula umbilical_catheter support_device ventriculoperitoneal_shunt nerve_stimulator
""")
"""Devices that end somewhere."""
