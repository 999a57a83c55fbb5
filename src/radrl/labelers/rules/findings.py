"""Phrases that mention an observation or an organ whose size may be stated.

How a phrase is written: `radrl.labelers.rules.lexicon`. The findings under "No Finding" are those that
CheXpert collects beside its observations.
"""

from typing import Final

FINDINGS: Final[dict[tuple[str, ...], str]] = {
    ("Enlarged Cardiomediastinum",): """
        mediastinal|cardiomediastinal widening|enlargement|prominence
        widening|enlargement|prominence of the? superior? mediastinum
        widening|enlargement|prominence of the? superior? mediastinal|cardiomediastinal silhouette|contour?
        wide mediastinum""",
    ("Cardiomegaly",): """
        cardiomegaly
        cardiomegally
        cardiac|heart enlargement
        cardiac|heart and? chamber enlargement
        enlargement of the? heart
        enlargement of the? cardiac silhouette|shadow|size|contour?
        enlargement of the? cardiopericardial silhouette""",
    ("Lung Opacity",): """
        opacity
        opacification
        opacified
        opacity|opacification of
        decreased translucency
        increased|abnormal|hazy|patchy|vague|focal|streaky|linear|basilar density
        increased lung|pulmonary|parenchymal|basilar|interstitial density
        airspace|alveolar disease|process
        air space disease|process
        interstitial disease|process|thickening|pattern|change|lung
        infiltrate
        infiltration
        infiltrative change|process
        reticular pattern|marking|change
        reticulation
        reticulonodular pattern|marking|change
        increased|prominent|coarse|coarsened|chronic interstitial marking
        interstitial marking are? increased|prominent|coarse|coarsened
        interstitial marking
        interstitial prominence
        prominence|coarsening of the? interstitial? interstitium|marking
        parenchymal? scar
        parenchymal? scarring
        fibrotic scar|scarring|change
        peribronchial|bronchial wall? thickening|cuffing
        ground glass
        haziness""",
    ("Lung Lesion", "Lung Opacity"): """
        nodular density
        nodular airspace? opacity
        nodular opacification
        mass like opacity|density|consolidation
        masslike opacity|density|consolidation
        mass|nodule like opacity""",
    ("Lung Lesion",): """
        mass
        nodule
        nodularity
        nodular lesion|focus|shadow
        cavitary|lung|pulmonary|parenchymal lesion
        lump
        carcinoma
        neoplasm
        neoplastic process
        malignancy
        tumor
        tumour
        lung|bronchogenic cancer""",
    ("Edema",): "edema\noedema",
    ("Consolidation",): "consolidation\nconsolidative change|process|opacity|disease\nconsolidated",
    ("Pneumonia",): """
        pneumonia
        bronchopneumonia
        pneumonic process|change|infiltrate|consolidation?
        pulmonary|lung infection
        infection
        infectious process|etiology|disease|change|infiltrate?""",
    ("Atelectasis",): """
        atelectasis
        atelectatic change|disease|opacity|band?
        collapse
        collapsed lung|lobe""",
    ("Pneumothorax", "Pleural Effusion"): """
        hemopneumothorax|haemopneumothorax
        hemo|haemo pneumothorax""",
    ("Pneumothorax",): "pneumothorax\nhydropneumothorax\npnuemothorax\npneumothorx\npleural air collection?",
    ("Pleural Effusion",): """
        effusion
        pleural|loculated|layering|fissural|subpulmonic|subpulmonary fluid collection?
        pleural collection
        fluid in|within the? pleural space
        pleural space fluid
        hemothorax|haemothorax
        hydrothorax""",
    ("Pleural Other",): """
        pleural based? thickening|scar|scarring|plaque|calcification|parenchymal|disease
        pleural and? parenchymal scar|scarring|thickening
        pleuro? parenchymal scar|scarring|thickening
        pleuroparenchymal scar|scarring|thickening
        pleuro pericardial scar|scarring
        thickening of the? pleura
        fibrothorax
        fibrosis
        apical pleural? capping|cap""",
    ("Fracture",): "fracture\nfractured",
    ("Support Devices",): """
        pacer
        pacemaker
        pacing wire|lead|device?
        picc
        portacath
        port a cath
        mediport
        chemoport
        chest port
        central|venous|arterial|subclavian|jugular|ij|support line
        line and|or tube
        line terminate|end
        tube
        tubing
        catheter
        prosthetic? valve
        hardware
        arthroplasty
        icd
        aicd
        defibrillator
        device
        drain
        plate
        screw
        cannula
        coil
        stent
        sternotomy wire
        sternal|cerclage wire
        median sternotomy wire
        wire|lead
        medical support apparatus
        support apparatus|equipment|device
        swan ganz
        balloon pump
        endotracheal|nasogastric|enteric|orogastric|feeding|tracheostomy|chest|thoracostomy tube
        prosthesis""",
    ("No Finding",): """
        emphysema|emphysematous
        blunt|blunted|blunting
        density
        elevation|elevated
        eventration
        scoliosis|scoliotic|kyphosis|kyphotic
        degenerative|degeneration
        calcification|calcified|calcific
        hyperinflation|hyperinflated|hyperexpansion|hyperexpanded
        bronchospasm|asthma|bronchitis|bronchiolitis|copd
        hernia
        plaque|thickening|cuffing
        volume loss
        osteophytosis|osteophyte|osteopenia|osteodystrophy|arthropathy
        aortic disease
        airway disease
        cephalization
        aspiration
        bulla|bullous
        contusion
        atherosclerosis|atherosclerotic
        metastasis|metastatic
        granuloma|granulomatous
        pneumomediastinum|pneumoperitoneum
        inflammation|inflammatory
        prominence
        bullet
        granulomatous|tuberculous|tuberculosis|histoplasmosis infection
        cystic fibrosis
        deformity
        hemorrhage|hematoma
        hypertension
        irregular lucency
        radiopaque
        thoracentesis
        aerophagia
        tracheostomy""",
}

SHADOWED: Final = """
    pericardial effusion
    joint effusion
    calcified pulmonary|lung|parenchymal? nodule
    body|soft tissue mass
    mass effect
    vertebral|vertebra|tracheal collapse
    collapse of the? vertebral|vertebra
    collapse of the? t5|t6|t7|t8|t9|t10|t11|t12|l1|l2|l3
    soft tissue edema
    heart|cardiac valve|disease|border|rate|surgery|device|monitor|apex|chamber
    left|right heart border|catheter|catheterization
    over|behind|overlying|overly|overlie|in the heart|mediastinum
    mediastinal lymph|node|adenopathy|lymphadenopathy|calcification|clip|drain|shift|fat|calcified
    mediastinal and|, hilar lymph|node|adenopathy|lymphadenopathy|calcification|calcified
    calcified mediastinal|hilar
    midline|kerley b? line
    paratracheal|fissure line
    lead|led to|by
    growth plate
    end|endplate|nodal plate|tissue
    ekg|ecg lead|wire
    on tube
    if clinically? indicated
    as clinically? indicated
"""

ORGANS: Final[dict[tuple[str, ...], str]] = {
    ("Cardiomegaly",): """
        heart
        heart size|silhouette|contour|shadow
        size of the? heart|cardiac silhouette?
        cardiac silhouette|size|shadow|contour|profile
        cardiac silhouette size
        cardiothoracic|ct ratio
        cardio thoracic ratio
        cardiopericardial|cardiovascular silhouette""",
    ("Enlarged Cardiomediastinum",): """
        mediastinum
        mediastinal|cardiomediastinal|cardiomediastinum silhouette|contour|structure|size?
        mediastinal|cardiomediastinal|cardiomediastinum configuration|border|width
        cardio mediastinal silhouette|contour
        mediastinal and|, hilar silhouette|contour|structure?
        superior mediastinum
        pericardial silhouette""",
    ("Cardiomegaly", "Enlarged Cardiomediastinum"): """
        cardiac and|/ mediastinal silhouette|contour|structure|size|border?
        cardiac contour
        cardiac , mediastinal and|,|/? hilar? contour|silhouette|structure""",
}

BORDERLINE_HEART: Final = """
    borderline cardiomegaly
    borderline cardiac|heart enlargement|size|silhouette|contour|shadow size?
    borderline enlargement of the? cardiac? heart|silhouette|shadow
    borderline size of? the? heart
"""
FISSURE_FLUID: Final = """
    fluid in|within|along the? right|left|both? minor|major|horizontal|oblique|interlobar|xxxx? fissure
    fluid in|within|along the? right|left|both? minor|major and minor|major fissure
    fluid track|tracking|layering in|into|along the? right|left? minor|major|horizontal|oblique|xxxx? fissure
    fluid is? seen|noted|present in|within|along the? right|left? minor|major|horizontal|oblique|xxxx? fissure
    interlobar fluid
"""
"""Fluid between the lobes. Apart from the phrases of a pleural effusion, which these would outnumber where
sentences are reworded (`radrl.labelers.rules.rewording`)."""

CONGESTION: Final = """
    pulmonary? vascular|venous congestion|engorgement|prominence
    pulmonary congestion
    vascular|pulmonary indistinctness
    prominence of the? pulmonary? vasculature|vascularity
    congestion
    fluid|volume overload
"""
HEART_FAILURE: Final = "congestive? heart|cardiac failure\nchf\ncardiac decompensation"
