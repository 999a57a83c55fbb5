"""The words in which reports name concepts and organs; data alone.

One phrase a line, in the notation of `radrl.labelers.rules.lexicon`: ``a|b`` are alternatives, ``?`` at the
end of a slot makes it optional. Phrases are matched on folded tokens (no plural endings), the longest first.
What the rule labeler's lexicon names besides goes by `OF_OBSERVATION`.
"""

from __future__ import annotations

from typing import Final

CONCEPTS: Final[dict[str, str]] = {
    "acute_disease": """
        acute|active? cardiopulmonary|cardiothoracic|intrathoracic abnormality|finding|process
        significant|focal cardiopulmonary|cardiothoracic|intrathoracic abnormality|finding|process
        acute|active? cardiopulmonary|cardiothoracic|intrathoracic disease|pathology|condition
        significant|focal cardiopulmonary|cardiothoracic|intrathoracic disease|pathology|condition
        acute|active|significant cardiac|pulmonary|lung|chest|thoracic abnormality|finding|process|disease
        acute|active|significant|preoperative disease|process|abnormality|finding|pathology|change
        acute|active radiographic cardiopulmonary? abnormality|finding|process|disease
        radiographic cardiopulmonary? abnormality|finding|process|disease
        cardiopulmonary radiographic abnormality|finding|process|disease
        acute or active cardiac , pulmonary or pleural disease
        cardiopulmonary disease process
        chest|thoracic|cardiac abnormality|process""",
    "enlarged_cardiomediastinum": """
        cardiomediastinal widening|enlargement|prominence
        enlargement|prominence of the? cardiomediastinal silhouette|contour?""",
    "mediastinal_widening": """
        mediastinal widening|enlargement|prominence
        widening|enlargement|prominence of the? superior? mediastinum
        widening|enlargement|prominence of the? superior? mediastinal silhouette|contour?
        wide|widened|prominent superior|upper? mediastinum
        mediastinal contour|silhouette is|are|appear? widened|wide
        fullness of the? superior? mediastinum""",
    "mediastinal_mass": """
        mediastinal|paratracheal|paramediastinal|mediastinum mass|lesion|tumor
        mass in|of the? anterior|posterior|superior|middle? mediastinum""",
    "mediastinal_shift": """
        mediastinal|midline|cardiomediastinal|cardiac shift|displacement|deviation
        shift of the? mediastinum|heart
        shift|displacement of the? cardio? mediastinal|cardiomediastinal structure|silhouette|content?
        shift|displacement of the? cardio? cardiac structure|silhouette|content?
        deviation of the? cardio? mediastinal|cardiomediastinal|cardiac structure|silhouette|content?
        mediastinum is|are? shifted|displaced|deviated
        shift|shifted""",
    "tracheal_deviation": """
        tracheal deviation|shift|displacement
        deviation|shift|displacement of the? trachea
        trachea is|appear? mildly|slightly? deviated|displaced|shifted""",
    "tracheal_narrowing": """
        tracheal narrowing|stenosis|compression
        narrowing|compression|stenosis of the? trachea""",
    "cardiomegaly": """
        cardiomegaly|cardiomegally
        cardiac|heart enlargement
        heart|cardiac and? chamber enlargement
        enlargement of the? heart
        enlargement of the? cardiac|cardiopericardial silhouette|shadow|size|contour?""",
    "chamber_enlargement": """
        left|right atrial|ventricular|atrium|ventricle enlargement|prominence|dilation|dilatation|hypertrophy
        enlargement|prominence of the? left|right atrium|ventricle
        prominent|enlarged|dilated left|right atrium|ventricle
        left ventricular configuration|prominence
        lvh""",
    "pericardial_effusion": "pericardial effusion|fluid\nfluid in the? pericardium",
    "heart_failure": "congestive? heart|cardiac failure\nchf\ncardiac decompensation\nvolume|fluid overload",
    "vascular_congestion": """
        pulmonary|central? pulmonary? vascular|venous congestion|engorgement|prominence|indistinctness
        pulmonary? vascular|venous redistribution|hypertension|haziness|plethora
        pulmonary|perihilar|hilar|passive? congestion
        congestive|congested
        prominence|engorgement|indistinctness of the? central? pulmonary? vasculature|vascularity|vessel
        prominent|engorged|indistinct|increased|congested central? pulmonary? vasculature|vascularity|vessel
        prominent|increased central? pulmonary? vascular marking
        prominence of the? pulmonary? vascular marking
        cephalization
        cephalization of the? pulmonary? vascularity|vasculature|vessel|flow|blood?
        upper lobe blood|vascular|venous? diversion|redistribution""",
    "pulmonary_edema": "pulmonary? edema|oedema\nedematous change",
    "interstitial_edema": "pulmonary? interstitial pulmonary? edema|oedema",
    "alveolar_edema": """
        pulmonary? alveolar|airspace pulmonary? edema|oedema
        flash pulmonary edema
        batwing|butterfly opacity|edema|pattern|distribution
        ards
        acute respiratory distress syndrome""",
    "kerley_lines": "kerley a|b? line?\nseptal line|thickening\ninterlobular septal thickening",
    "pulmonary_hypertension": "pulmonary|arterial arterial? hypertension",
    "pulmonary_artery_enlargement": """
        enlarged|prominent|dilated central|main? pulmonary artery|arterial?
        prominence|enlargement|dilation|dilatation of the? central|main|right|left? pulmonary artery
        pulmonary artery enlargement|prominence|dilation|dilatation""",
    "hilar_enlargement": """
        hilar|bihilar|perihilar enlargement|prominence|fullness|widening
        prominence|enlargement|fullness of the? bilateral|both? right|left? hilum|hila|hilus
        hilum is|appear? full|fuller""",
    "adenopathy": """
        adenopathy|lymphadenopathy
        enlarged lymph? node
        lymph node enlargement""",
    "hilar_adenopathy": """
        hilar|bihilar adenopathy|lymphadenopathy
        enlarged hilar lymph? node
        hilar lymph node enlargement""",
    "mediastinal_adenopathy": """
        mediastinal|paratracheal adenopathy|lymphadenopathy
        enlarged mediastinal|paratracheal lymph? node
        mediastinal lymph node enlargement""",
    "tortuous_aorta": """
        tortuous|tortuosity|unfolded|unfolding|ectatic|ectasia|uncoiled|uncoiling
        tortuous|ectatic|unfolded|uncoiled|elongated descending|ascending|thoracic? thoracic? aorta
        tortuosity|ectasia|unfolding of the? descending|ascending|thoracic? thoracic? aorta
        uncoiling|elongation of the? descending|ascending|thoracic? thoracic? aorta
        aortic tortuosity|ectasia|unfolding
        tortuous and|, ectatic|unfolded
        ectatic and|, tortuous
        tortuous and|, ectatic descending|ascending|thoracic? thoracic? aorta
        ectatic and|, tortuous descending|ascending|thoracic? thoracic? aorta
        prominent|prominence of? the? aortic? knob|arch""",
    "aortic_dilation": """
        dilated|dilation|dilatation of? the? ascending|descending|thoracic? thoracic? aorta
        aortic dilation|dilatation|enlargement
        enlarged ascending|descending|thoracic? thoracic? aorta""",
    "aortic_aneurysm": """
        aneurysm|aneurysmal
        aortic|thoracic? aortic? aneurysm
        aneurysmal dilation|dilatation of? the? ascending|descending|thoracic? thoracic? aorta?""",
    "aortic_dissection": "aortic? dissection",
    "calcification": "calcification|calcified|calcific\ncalcified focus|density|lesion",
    "aortic_calcification": """
        atherosclerosis|atherosclerotic|atheromatous|arteriosclerosis|arteriosclerotic|atherosclerotical
        atherosclerotic|atheromatous|arteriosclerotic vascular? disease|change|calcification|plaque
        atherosclerotic|atheromatous|arteriosclerotic calcified|calcific aorta?
        atherosclerotic|atheromatous|arteriosclerotic calcified|calcific? thoracic? aorta|aortic arch|knob?
        vascular calcification|calcified
        aortic|arch|knob calcification|atherosclerosis
        aortic arch|knob|knuckle|wall|vascular calcification|atherosclerosis
        calcified|calcific thoracic|abdominal? aorta
        calcified|calcific aortic arch|knob|knuckle
        calcified and|, tortuous thoracic? aorta
        arterial calcification
        aortic disease""",
    "coronary_calcification": """
        coronary artery|arterial? calcification|atherosclerosis
        calcified coronary artery""",
    "valve_calcification": """
        mitral|aortic valve|annulus|annular|valvular calcification
        calcified|calcification of? the? mitral|aortic valve|annulus
        mitral annulus calcified""",
    "pleural_calcification": """
        pleural based? calcification
        calcified|calcific pleural plaque|thickening""",
    "calcified_lymph_node": """
        calcified hilar|mediastinal|paratracheal|perihilar|subcarinal? lymph? node
        calcified hilar|mediastinal|paratracheal|perihilar|subcarinal? lymph xxxx?
        calcified hilar and|, mediastinal lymph? node
        calcified mediastinal and|, hilar lymph? node
        calcified hilar and|, mediastinal lymph xxxx?
        calcified mediastinal and|, hilar lymph xxxx?
        calcified hilar|mediastinal xxxx
        calcified hilar|perihilar nodule|structure
        calcified hilar|mediastinal? adenopathy|lymphadenopathy
        lymph node|nodal calcification
        hilar|mediastinal|perihilar|infrahilar|suprahilar|paratracheal|subcarinal calcification
        hilar and mediastinal calcification
        mediastinal and hilar calcification
        calcified hilum|hila""",
    "soft_tissue_calcification": "soft tissue calcification",
    "cartilage_calcification": """
        costochondral|cartilage|cartilaginous|costal calcification
        calcified|calcification of? the? costal|costochondral|first? rib? cartilage|junction""",
    "granulomatous_disease": """
        granulomatous
        calcified? granulomatous disease|change|infection|process|sequela
        histoplasmosis
        histoplasmosis infection
        prior|old granulomatous disease|infection""",
    "granuloma": "granuloma|granulomata\npulmonary|lung|parenchymal granuloma",
    "calcified_granuloma": """
        calcified|calcific pulmonary|lung|parenchymal? granuloma|granulomata
        calcified|calcific pulmonary|lung|parenchymal? nodule
        calcified|calcific small? granulomatous nodule
        granuloma is|are calcified
        densely calcified nodule|granuloma
        calcific|calcified density|opacity nodule|granuloma
        lung|pulmonary|parenchymal calcification
        granulomatous|granuloma calcification""",
    "lung_abnormality": """
        pulmonary|lung|parenchymal abnormality|pathology|finding
        pulmonary|lung process
        lung disease
        pulmonary parenchymal abnormality|process
        abnormality in|of|within the? left|right|both? lung""",
    "lung_opacity": """
        opacity|opacification|opacified|haziness|density|shadow|shadowing
        pulmonary|lung|parenchymal|focal opacity|opacification|density
        decreased translucency
        increased|abnormal|hazy|patchy|vague|focal|streaky|linear|basilar density
        increased lung|pulmonary|parenchymal|basilar density""",
    "airspace_opacity": """
        airspace|alveolar opacity|opacification|disease|process|density|infiltrate|change
        air space opacity|opacification|disease|process|density|infiltrate|shadowing
        airspace|alveolar shadowing
        infiltrate|infiltration|infiltrative
        infiltrative change|process
        focal|pulmonary|lung|parenchymal|airspace infiltrate""",
    "ground_glass_opacity": "ground glass opacity|opacification|density|attenuation|change|infiltrate?",
    "consolidation": """
        consolidation|consolidated|consolidative
        airspace|alveolar|parenchymal|lung|pulmonary|lobar|focal|segmental consolidation
        air space consolidation
        consolidative change|process|opacity|disease
        air bronchogram""",
    "pneumonia": """
        pneumonia|bronchopneumonia|pneumonitis
        lobar|focal pneumonia
        pneumonic process|change|infiltrate|consolidation?
        pulmonary|lung infection
        infection
        infectious process|etiology|disease|change|infiltrate|consolidation?
        infectious or inflammatory process|etiology|change?""",
    "aspiration": "aspiration\naspiration pneumonia|pneumonitis",
    "interstitial_pattern": """
        interstitial pattern|thickening|change|infiltrate|opacity
        interstitial prominence|density|abnormality|process|marking
        chronic interstitial change|opacity|prominence|marking
        increased|prominent|coarse interstitial|lung|bronchovascular|pulmonary marking|pattern
        coarsened|accentuated interstitial|lung|bronchovascular|pulmonary marking|pattern
        increased|prominent|coarse|coarsened|accentuated interstitium
        interstitial marking are|is|appear? mildly|slightly? increased|prominent|coarse|coarsened|accentuated
        prominence|coarsening|accentuation|thickening of the? interstitium|interstitial
        prominence|coarsening|accentuation of the? interstitial|lung|bronchovascular|pulmonary marking|pattern
        bronchovascular prominence
        increased|prominent|coarse|coarsened bronchovascular|peribronchovascular
        bronchovascular marking are|is|appear? mildly|slightly? increased|prominent|coarse
        bronchovascular marking are|is|appear? mildly|slightly? coarsened|accentuated
        reticular|reticulonodular pattern|marking|change|opacity|density
        reticulation|reticulonodular
        peribronchial opacity|marking""",
    "interstitial_lung_disease": """
        interstitial lung? disease
        chronic interstitial lung? disease
        honeycombing
        ild""",
    "pulmonary_fibrosis": """
        fibrosis
        pulmonary|interstitial|parenchymal|lung fibrosis
        chronic interstitial fibrosis
        fibrotic lung? disease""",
    "scarring": """
        scar|scarring|cicatrix
        parenchymal|fibrotic|pulmonary|fibronodular|linear|lung|interstitial scar|scarring
        fibrotic|fibronodular|cicatricial change|band|opacity
        pleural and? parenchymal scar|scarring
        pleuro? parenchymal scar|scarring
        pleuroparenchymal scar|scarring""",
    "atelectasis": """
        atelectasis|atelectatic
        atelectatic change|disease|opacity
        dependent atelectasis
        hypoventilatory atelectasis""",
    "linear_atelectasis": """
        linear|discoid|platelike|bandlike|subsegmental|segmental|streaky atelectasis
        plate|band|disc|disk like atelectasis
        linear|discoid|platelike or subsegmental|discoid|linear atelectasis
        atelectatic band
        platelike|discoid atelectatic change
        sub segmental atelectasis""",
    "lobar_collapse": """
        lobar|lobe collapse|atelectasis
        upper|middle|lower lobe collapse
        collapsed lobe
        collapse of the? right|left? upper|middle|lower lobe""",
    "lung_collapse": "collapse|collapsed\nlung collapse\ncollapsed lung\ncollapse of the? right|left? lung",
    "volume_loss": "volume loss\nloss of lung? volume",
    "low_lung_volumes": """
        low|decreased|small|reduced|diminished|shallow lung volume
        low|decreased|reduced volume
        lung volume is|are|remain|appear? mildly|slightly|quite|markedly|somewhat? low|decreased|small|reduced
        hypoinflation|hypoinflated|hypoventilation|hypoventilated|hypoventilatory|underinflated|underinflation
        hypoaeration|hypoaerated|underaeration|underaerated|underexpanded|hypoexpanded|hypoexpansion
        hypoventilatory|hypoinflation change
        shallow|poor|low|decreased|suboptimal|limited|small inspiration
        shallow|poor|low|decreased|suboptimal|limited inspiratory effort|volume
        shallow|poor|low|decreased|suboptimal depth? of? inspiration
        shallow|poor degree of inspiration
        poorly|incompletely inflated|expanded|aerated
        low inspiratory lung? volume
        inspiratory effort is poor|shallow|low
        expiratory film|exam|examination""",
    "vascular_crowding": """
        bronchovascular|vascular|bronchial|pulmonary crowding
        crowding of the? bronchovascular|pulmonary|vascular|interstitial? structure|marking|vasculature|vessel
        crowding|crowded
        crowded bronchovascular|pulmonary? marking|vasculature|vessel""",
    "hyperinflation": """
        hyperinflation|hyperinflated|hyperexpansion|hyperexpanded|hyperaeration|hyperaerated|hyperdistended
        overexpanded|overinflated|overexpansion|overinflation
        hyperdistention|overdistended|overaerated|overaeration
        air trapping
        increased|large lung volume
        increased ap diameter
        lung volume are|is increased|large
        increased|enlarged|widened|prominent retrosternal|anterior clear? air? space""",
    "flattened_diaphragm": """
        flattening|flattened
        flattening of the? bilateral|both? right|left? diaphragm|hemidiaphragm
        flattened diaphragm|hemidiaphragm
        diaphragm|hemidiaphragm is|are|appear? flat|flattened
        flat diaphragm|hemidiaphragm
        diaphragmatic flattening""",
    "copd": """
        copd
        chronic? obstructive lung|pulmonary|airway disease
        chronic obstructive disease
        obstructive disease|change""",
    "emphysema": """
        emphysema|emphysematous
        emphysematous|bullous|centrilobular|paraseptal change|disease|emphysema|lung
        pulmonary emphysema
        emphysematous lung disease
        emphysematous and bullous change|disease
        chronic emphysematous change|disease
        bullous emphysematous disease|change""",
    "bulla": "bulla|bullous|bleb|pneumatocele",
    "hyperlucency": """
        hyperlucency|hyperlucent|lucency|lucent
        increased lucency|translucency
        irregular lucency""",
    "bronchiectasis": "bronchiectasis|bronchiectatic\nbronchiectatic change\ntraction bronchiectasis",
    "bronchial_thickening": """
        peribronchial|bronchial|peribronchovascular wall? thickening|cuffing
        airway|airways wall? thickening
        thickening|cuffing of the? bronchial|bronchus wall?
        cuffing
        bronchial wall prominence
        tram tracking""",
    "airway_disease": """
        bronchitis|bronchiolitis|bronchospasm|asthma
        bronchitic change
        reactive|small|large? airway disease
        viral? airway inflammation""",
    "lung_cyst": "lung|pulmonary|parenchymal? cyst\ncystic lesion|change|lucency|disease|space|lung?",
    "lung_lesion": """
        lesion
        lung|pulmonary|parenchymal|focal lesion
        lump""",
    "nodule": """
        nodule|nodularity
        pulmonary|lung|noncalcified|parenchymal|solitary|solid pulmonary|lung? nodule
        nodular airspace? opacity|density|lesion|focus|shadow|opacification
        nodular
        nodule like opacity|density
        coin lesion
        round|rounded opacity|density|lesion""",
    "mass": """
        mass
        mass lesion
        mass like opacity|density|consolidation|lesion|opacification?
        masslike opacity|density|consolidation|lesion|opacification?
        pulmonary|lung|parenchymal mass""",
    "hilar_mass": """
        hilar|perihilar|suprahilar|infrahilar mass|lesion|tumor
        mass in|of|at the? right|left? hilum""",
    "cavity": """
        cavitary lesion|process|mass|nodule|disease|consolidation|opacity?
        cavitation|cavity|cavitating
        thick walled? cavity|lucency""",
    "lung_abscess": "lung|pulmonary? abscess",
    "malignancy": """
        carcinoma|neoplasm|malignancy|tumor|tumour|cancer|malignant|neoplastic|lymphoma
        neoplastic|malignant process|disease|lesion
        lung|bronchogenic|primary|pulmonary cancer|malignancy|neoplasm|carcinoma|tumor
        lymphangitic carcinomatosis|spread""",
    "metastasis": """
        metastasis|metastatic
        metastatic disease|lesion|nodule|process|deposit
        pulmonary|lung metastasis""",
    "contusion": "pulmonary|lung? contusion",
    "pulmonary_hemorrhage": "pulmonary|alveolar? hemorrhage|haemorrhage",
    "pulmonary_infarct": "pulmonary|lung? infarct|infarction\nhampton hump",
    "pulmonary_embolism": "pulmonary embolism|embolus\npulmonary thromboembolic? disease",
    "tuberculosis": """
        tuberculosis|tuberculous|tb
        tuberculous disease|change|infection
        active|reactivation|prior|old tuberculosis|tb
        mycobacterial disease|infection""",
    "sarcoidosis": "sarcoidosis|sarcoid",
    "cystic_fibrosis": "cystic fibrosis",
    "pleural_abnormality": "pleural abnormality|disease|process|finding|pathology",
    "pleural_effusion": """
        effusion
        pleural|layering|subpulmonic|subpulmonary|parapneumonic effusion|fluid collection?
        pleural collection
        fluid in|within the? left|right|both? pleural space|cavity
        pleural space fluid
        hydrothorax
        meniscus sign?
        pleural air collection or fluid""",
    "loculated_effusion": """
        loculated pleural? effusion|fluid collection?
        loculated collection
        loculation
        pleural? effusion is|are|appear loculated""",
    "fissural_fluid": """
        fluid in|within|along the? right|left|both? minor|major|horizontal|oblique|interlobar|xxxx? fissure
        fluid track|tracking|layering in|into|along|within the? right|left? minor|major|horizontal? fissure
        fluid track|tracking|layering in|into|along|within the? right|left? oblique|xxxx fissure
        fluid is? seen|noted|present in|within|along the? right|left? minor|major|horizontal? fissure
        fluid is? seen|noted|present in|within|along the? right|left? oblique|xxxx fissure
        fissural|interlobar fluid|effusion
        fluid in|within|along the? right|left? minor|major and minor|major fissure""",
    "hemothorax": "hemothorax|haemothorax",
    "empyema": "empyema|pyothorax",
    "blunted_costophrenic_angle": """
        blunting|blunted|blunt
        blunting|obscuration of the? bilateral|both? left|right? costophrenic|cp|costal angle|sulcus|recess
        blunting|obscuration of the? bilateral|both? left|right? lateral|posterior? costophrenic|cp xxxx
        blunting|obscuration of the? lateral|posterior? left|right? costophrenic|cp angle|sulcus|xxxx
        blunting|obscuration of the? bilateral|both? lateral|posterior costophrenic|cp angle|sulcus|recess
        blunting|obscuration of the? bilateral|both? lateral|posterior costal angle|sulcus|recess
        blunting|obscuration of the? left|right left|right? costophrenic|cp|costal angle|sulcus|recess
        blunting|obscuration of the? left|right lateral|posterior costophrenic|cp|costal angle|sulcus|recess
        blunted bilateral|both|left|right? lateral|posterior? costophrenic|cp angle|sulcus|recess
        loss|obliteration|effacement of the? left|right? lateral|posterior? costophrenic|cp angle|sulcus
        costophrenic|cp angle|sulcus is|are? lost|obliterated|effaced
        costophrenic|cp angle|sulcus blunting|blunted
        costophrenic|cp angle|sulcus is|are|appear? mildly|slightly|minimally? blunted|obscured""",
    "pleural_thickening": """
        pleural based? thickening|scar|scarring|density|opacity
        thickening|scarring of the? pleura
        pleural and parenchymal thickening
        biapical|apical pleural thickening|scar|scarring
        apical thickening
        fibrothorax
        pleuro pericardial scar|scarring
        pleural reaction|tag|fibrosis
        thickened pleura""",
    "apical_cap": "apical|biapical pleural? capping|cap",
    "fissural_thickening": """
        thickening of the? right|left? minor|major|horizontal|oblique|xxxx? fissure
        minor|major|horizontal|oblique? fissure|fissural thickening
        thickened minor|major|horizontal|oblique? fissure""",
    "pleural_plaque": "plaque\npleural plaque\nasbestos related pleural? disease\nasbestosis",
    "pleural_mass": "pleural based? mass|nodule|lesion|tumor\nmesothelioma",
    "pneumothorax": """
        pneumothorax|pnuemothorax|pneumothorx|ptx
        pleural|intrapleural air|gas collection?
        air|gas in|within the? left|right|both? pleural space|cavity
        air|gas remain|persist|is|seen|present seen|present? in|within the? left|right? pleural space|cavity
        visceral pleural line
        deep sulcus sign""",
    "hydropneumothorax": """
        hydropneumothorax
        hydro|hemo|haemo pneumothorax
        hemopneumothorax|haemopneumothorax""",
    "tension_pneumothorax": """
        tension pneumothorax|hydropneumothorax
        pneumothorax with|under tension
        pneumothorax with sign|evidence of tension
        tension physiology|component""",
    "pneumomediastinum": "pneumomediastinum\nmediastinal air|emphysema|gas\nair in the? mediastinum",
    "pneumopericardium": "pneumopericardium",
    "subcutaneous_emphysema": """
        subcutaneous|soft tissue? emphysema|air|gas
        surgical emphysema
        air|gas in the? subcutaneous|soft tissue
        chest wall emphysema""",
    "free_air": """
        free intraperitoneal|subdiaphragmatic|peritoneal|abdominal? air|gas
        subdiaphragmatic free? air|gas
        intraperitoneal free? air|gas
        free air under|below|beneath the? right|left? diaphragm|hemidiaphragm
        air|gas under|below|beneath the? right|left? diaphragm|hemidiaphragm
        free? air|gas|lucency under|underneath|below|beneath both|each|either|a the? diaphragm|hemidiaphragm
        free? air|gas underneath the? right|left? diaphragm|hemidiaphragm
        extraluminal|subphrenic free? air|gas
        pneumoperitoneum""",
    "hemidiaphragm_elevation": """
        elevation|elevated
        elevation of the? bilateral|both? right|left? diaphragm|hemidiaphragm
        elevated diaphragm|hemidiaphragm
        diaphragm|hemidiaphragm elevation
        diaphragm|hemidiaphragm is|are|appear|remain? mildly|slightly|moderately|markedly? elevated|raised
        diaphragmatic elevation
        raised|high diaphragm|hemidiaphragm
        diaphragm|hemidiaphragm is|are|lie high|higher""",
    "eventration": """
        eventration|eventrated
        eventration of the? right|left? diaphragm|hemidiaphragm
        diaphragm|diaphragmatic|hemidiaphragm eventration""",
    "hernia": "hernia|herniation\nventral|inguinal hernia",
    "hiatal_hernia": """
        hiatal|hiatus hernia
        hernia hiatal
        sliding|paraesophageal hiatal|hiatus? hernia
        intrathoracic stomach
        retrocardiac hernia""",
    "diaphragmatic_hernia": "diaphragmatic hernia\nbochdalek|morgagni hernia\ndiaphragmatic rupture",
    "bone_abnormality": """
        acute|active|focal|significant? bony|osseous|skeletal|bone|osseus abnormality|finding|process|injury
        acute|active|focal|significant? bony|osseous|skeletal|bone|osseus change|disease|pathology
        displaced? acute|focal bone abnormality
        cortical|corticated|contour? irregularity
        contour abnormality
        rib abnormality""",
    "fracture": """
        fracture|fractured
        bony|osseous|bone|skeletal|displaced|nondisplaced fracture
        fracture line|deformity
        cortical|bony break|discontinuity|step
        cortical|bony? step off
        broken bone|clavicle""",
    "rib_fracture": """
        rib fracture
        rib fracture deformity
        fracture of the? right|left? first|second|third|fourth|fifth|sixth? rib
        fracture of the? right|left? seventh|eighth|ninth|tenth|xxxx rib
        broken|fractured right|left? first|second|third|fourth|fifth|sixth? rib
        broken|fractured right|left? seventh|eighth|ninth|tenth|xxxx rib""",
    "clavicle_fracture": """
        clavicle|clavicular fracture
        fracture of the? right|left? distal|mid|proximal? clavicle
        fractured clavicle""",
    "vertebral_fracture": """
        compression|vertebral|wedge|spinal|spine|burst fracture
        vertebral body? compression fracture|deformity
        compression fracture|deformity
        compression fracture deformity
        compression of t4|t5|t6|t7|t8|t9|t10|t11|t12|l1|l2|l3
        t4|t5|t6|t7|t8|t9|t10|t11|t12|l1|l2|l3 compression
        superior|inferior|anterior|vertebral? endplate compression|depression|deformity|fracture|collapse
        compression|depression|deformity|fracture of the? superior|inferior|anterior? endplate
        multilevel xxxx? deformity
        thoracic|lumbar xxxx deformity
        biconcave|biconcavity
        biconcave vertebra|vertebral|deformity body?
        vertebra plana
        wedge|wedging|wedged compression? deformity
        anterior wedge compression? deformity?
        vertebral body fracture
        wedging|wedged
        vertebral body? wedging|collapse
        anterior wedging
        compressed vertebra|vertebral body?
        compression of the? vertebral body
        loss of vertebral? body? height
        vertebral? body? height loss
        vertebral|vertebra collapse|collapsed
        collapsed vertebra|vertebral body?
        decreased|reduced|loss vertebral body? height""",
    "sternal_fracture": "sternal|sternum|manubrial fracture\nfracture of the? sternum",
    "humerus_fracture": """
        humeral|humerus|proximal humeral? fracture
        fracture of the? right|left? proximal? humerus""",
    "scapula_fracture": "scapular|scapula fracture\nfracture of the? right|left? scapula",
    "dislocation": """
        dislocation|subluxation|dislocated|subluxed
        shoulder|glenohumeral|acromioclavicular|ac dislocation|subluxation|separation""",
    "bone_lesion": """
        lytic|sclerotic|blastic bone|bony|osseous|rib|vertebral? lesion|metastasis|focus
        destructive|osteolytic|osteoblastic bone|bony|osseous|rib|vertebral? lesion|metastasis|focus|process
        bone|bony|osseous|expansile bone|rib|vertebral? lesion|metastasis|focus
        bone|bony|osseous|cortical destruction
        osteoblastic|osteolytic|osseous|bony|skeletal metastatic disease
        sclerosis|sclerotic
        bone island
        aggressive bone|bony|osseous lesion
        osteonecrosis|myeloma""",
    "bone_deformity": """
        deformity
        bony|osseous|bone|rib|clavicular|sternal irregularity
        rib|bony|osseous|clavicular|chest wall? remodeling|bowing|expansion|asymmetry
        malunion|malunited
        posttraumatic deformity
        rib|posttraumatic|clavicular|chest|bony|thoracic|sternal|osseous deformity
        deformity of the? chest|thorax""",
    "degenerative_change": """
        degenerative|degeneration
        degenerative joint|bony|osseous|arthritic|skeletal? change|disease
        degenerative arthritis|arthropathy|hypertrophic
        arthropathy|arthritis|arthritic|osteoarthritis|osteoarthrosis|arthrosis
        osteoarthritic|arthritic|hypertrophic|productive|senescent change
        djd""",
    "degenerative_spine": """
        spondylosis|spondylitic|spondylotic|spondylosi|spondyloarthropathy
        thoracic|cervical|lumbar|lower|mid|mild spondylosis
        spondylitic|spondylotic change
        degenerative thoracic|lumbar|cervical|thoracolumbar spine
        degenerative spine
        degenerative spinal|spondylotic|endplate|vertebral|facet change|disease
        degenerative spurring|osteophytosis|spondylosis
        multilevel degenerative change|disease|spondylosis
        endplate change|degeneration|irregularity|sclerosis
        facet arthropathy|hypertrophy
        spondylolisthesis
        diffuse idiopathic skeletal hyperostosis
        dish""",
    "osteophyte": """
        osteophyte|osteophytosis|syndesmophyte
        osteophyte|osteophytic formation|spurring|change
        bridging osteophyte|syndesmophyte|spurring
        degenerative|marginal|endplate|anterior|hypertrophic osteophyte
        spur|spurring
        vertebral|hypertrophic spur|spurring
        osteophytic""",
    "disc_disease": """
        degenerative disc|disk disease|change
        disc|disk|intervertebral space? narrowing
        intervertebral disc|disk space? narrowing
        disc|disk disease|degeneration|desiccation
        loss of intervertebral? disc|disk height|space
        narrowing of the? intervertebral? disc|disk space
        disc|disk degenerative change|disease""",
    "degenerative_shoulder": """
        acromioclavicular|ac|glenohumeral|shoulder joint? degenerative|arthritic|osteoarthritic change|disease
        acromioclavicular|ac|glenohumeral|shoulder joint? arthritis|arthropathy|osteoarthritis|arthrosis""",
    "osteopenia": """
        osteopenia|osteopenic|osteoporosis|osteoporotic|demineralization|demineralized
        diffuse? bony|bone|osseous demineralization
        decreased|diminished bone|bony density|mineralization
        bone|bony|osseous are|is|structure? are|is|appear? osteopenic|demineralized""",
    "scoliosis": """
        scoliosis|scoliotic|curvature|dextroscoliosis|levoscoliosis|dextrocurvature|levocurvature
        scoliotic|scoliosis curvature|deformity
        spinal|spine|thoracic|lumbar|thoracolumbar|s shaped curvature|scoliosis|dextroscoliosis|levoscoliosis
        dextro|levo scoliosis|curvature
        rotoscoliosis|kyphoscoliosis""",
    "kyphosis": """
        kyphosis|kyphotic|gibbus
        accentuated|exaggerated|increased|thoracic|dorsal thoracic|dorsal? kyphosis
        kyphotic curvature|deformity""",
    "pectus_deformity": "pectus excavatum|carinatum deformity?\npectus deformity?\nfunnel chest",
    "cervical_rib": "cervical rib",
    "soft_tissue_swelling": "soft tissue swelling|edema|abnormality|finding\nchest wall swelling|hematoma",
    "soft_tissue_mass": "soft tissue|chest wall mass|lesion|nodule|density",
    "thyroid_enlargement": """
        thyromegaly|goiter|goitre
        enlarged|enlargement of? the? thyroid
        thyroid enlargement|goiter|mass""",
    "bowel_distension": """
        dilated|distended|distention|distension of? the? small|large? bowel|colon|colonic|stomach loop?
        bowel|colonic|gastric|gaseous distention|distension|dilatation|dilation|obstruction
        small bowel obstruction
        dilated|distended loop of small|large? bowel
        dilated|distended small|large? bowel loop
        ileus""",
    "gallstones": "gallstone|cholelithiasis",
    "nipple_shadow": "nipple shadow|density|artifact?",
    "epicardial_fat": """
        epicardial|pericardial|mediastinal|cardiophrenic prominent? fat pad?
        fat pad
        mediastinal lipomatosis""",
    "azygos_lobe": "azygos lobe|fissure\naccessory azygos? fissure|lobe",
    "skin_fold": "skin fold",
    "right_aortic_arch": "right sided? aortic arch",
    "dextrocardia": "dextrocardia\nsitus inversus",
    "mastectomy": "mastectomy|lumpectomy\nabsent right|left? breast\nmastectomy change",
    "lung_resection": """
        lobectomy|pneumonectomy|segmentectomy|thoracotomy
        wedge|lung|partial resection
        lobectomy|pneumonectomy|thoracotomy change""",
    "postsurgical_change": """
        postsurgical|postoperative|surgical|postop change
        post surgical|operative change
        cabg
        bypass surgery|grafting|graft
        coronary artery bypass graft|surgery|grafting?
        postoperative|surgical defect
        cholecystectomy|fundoplication""",
    "support_device": """
        device|hardware|tube|tubing|catheter|lead|drain|cannula|prosthesis|prosthetic
        medical|electronic|support device|apparatus
        medical support apparatus|device
        support apparatus|equipment|line
        line and|or tube
        tube and|or line
        central and|or peripheral line
        battery pack""",
    "device_malposition": """
        malposition|malpositioned|malpositioning|mispositioned|misplaced|misplacement
        coiled|kinked|kinking|looped|dislodged|migrated|fractured lead|catheter|tube|line
        coiled|kinked|dislodged|knotted
        should|could|need to? be advanced|withdrawn|repositioned|retracted|pulled
        recommend|suggest advancement|repositioning|retraction|withdrawal
        too high|low|deep|far
        selectively intubated
        right|left? main? mainstem|endobronchial|bronchus|stem intubation""",
    "endotracheal_tube": "endotracheal|et|ett|tracheal tube\nett\nendotracheal\nintubated",
    "tracheostomy_tube": "tracheostomy\ntracheostomy tube|cannula\ntracheostomy appliance",
    "enteric_tube": "enteric|gastric|orogastric|og|enteral tube|catheter",
    "nasogastric_tube": "nasogastric|ng|nasoenteric tube|catheter\nngt|nasogastric",
    "feeding_tube": """
        feeding|dobbhoff|dobhoff|dubhoff|nasoduodenal|nasojejunal|weighted tube|catheter
        dobbhoff|dobhoff|dubhoff
        dobbhoff|dobhoff|dubhoff feeding|enteric tube
        enteric feeding tube""",
    "gastrostomy_tube": "gastrostomy|peg|jejunostomy tube|catheter\ngastrostomy",
    "central_line": """
        central|venous|vascular|arterial|subclavian|jugular|ij|femoral line|catheter
        central venous|vascular line|catheter|access
        internal|external? jugular|ij central? venous? line|catheter|sheath
        subclavian central? venous? line|catheter
        indwelling|tunneled|tunnelled catheter|line
        tunneled|tunnelled central? venous? catheter|line
        introducer sheath
        venous access device
        cordis|cvc|cvl""",
    "picc": """
        picc
        picc line|catheter|tip
        peripherally inserted central venous? catheter|line
        upper extremity picc line|catheter?""",
    "port": """
        portacath|portacatheter|mediport|chemoport|port|infuseport|powerport|portocath
        left|right chest xxxx catheter?
        left|right subclavian chest xxxx catheter
        port a? cath|catheter
        chest|subcutaneous|infusion|implanted|chest wall port|catheter
        port catheter
        catheter|tubing|line of a|the? left|right? sided? port
        port a
        infusion port|catheter
        medication port
        chest wall? port catheter?""",
    "dialysis_catheter": """
        tunneled|tunnelled? dialysis|hemodialysis|haemodialysis catheter|line
        permcath|permacath|vascath|quinton|tesio
        dual lumen dialysis? catheter
        large bore central? venous? catheter""",
    "pulmonary_artery_catheter": """
        swan ganz catheter|line?
        pulmonary artery|arterial catheter|line
        pa|swan catheter""",
    "chest_tube": """
        chest|thoracostomy|pleural|thoracic|intercostal drainage? tube|drain|catheter
        drain|catheter|tube in|within the? left|right? pleural space|cavity
        drain in|within|over the? left|right? hemithorax|chest|thorax
        pigtail|pleurx pleural? catheter|drain
        pleurx|pigtail
        thoracostomy|thoracentesis catheter|tube""",
    "mediastinal_drain": "mediastinal drain|tube",
    "cardiac_device": """
        cardiac|implanted cardiac? device
        cardiac xxxx
        dual|single xxxx|lead cardiac? xxxx
        cardiac conduction|rhythm device
        pacing wire|lead|device
        cardiac lead|generator
        generator
        electrode|lead wire
        pulse generator""",
    "pacemaker": """
        pacer|pacemaker
        pacemaker|pacer lead|wire|generator|device|pack|battery|electrode
        cardiac|dual|lead|chamber pacemaker|pacer|pacing device|lead?
        transvenous|biventricular|single|permanent pacemaker|pacer|pacing device|lead?
        dual|single|three chamber|lead cardiac? pacemaker|pacer
        epicardial|transvenous pacing? wire|lead|pacemaker""",
    "defibrillator": """
        icd|aicd|defibrillator
        icd|aicd|defibrillator lead|wire|generator|device
        pacemaker|pacer|pacing / and? icd|aicd|defibrillator lead|device?
        automatic? implantable? cardiac|cardioverter defibrillator
        cardioverter defibrillator
        lifevest""",
    "loop_recorder": "loop recorder\nimplantable cardiac? monitor",
    "intra_aortic_balloon_pump": """
        intraaortic|aortic balloon pump?
        intra aortic balloon pump?
        balloon pump
        iabp""",
    "ventricular_assist_device": "ventricular assist device\nlvad|impella|vad",
    "ecmo_cannula": "ecmo cannula|catheter?",
    "umbilical_catheter": "umbilical artery|arterial|venous|vein? catheter|line\nuvc|uac",
    "sternotomy_wires": """
        sternotomy
        median|midline? sternotomy
        median? sternotomy|sternal|cerclage wire|suture|change|hardware
        sternal cerclage wire
        sternal fixation wire|device?""",
    "prosthetic_valve": """
        prosthetic|replacement|mechanical cardiac|heart|aortic|mitral|tricuspid? valve
        artificial|bioprosthetic cardiac|heart|aortic|mitral|tricuspid? valve
        aortic|mitral|cardiac|heart|tricuspid valve replacement|prosthesis|repair
        valve replacement|prosthesis
        annuloplasty ring?
        valvuloplasty
        tavr""",
    "stent": """
        stent
        coronary|vascular|aortic|tracheal|bronchial|esophageal|biliary|aorta artery? stent
        endograft|stent graft
        coronary artery stent""",
    "ivc_filter": "ivc|vena cava|caval filter",
    "embolization_coil": "embolization coil\ncoil\nvascular plug",
    "ventriculoperitoneal_shunt": """
        ventriculoperitoneal|vp|ventricular shunt catheter|tubing?
        shunt catheter|tubing""",
    "nerve_stimulator": """
        nerve|vagal|vagus|spinal|dorsal cord|column|nerve? stimulator lead|wire|device?
        stimulator lead|device?
        epidural catheter""",
    "spinal_hardware": """
        spinal|vertebral|cervical fixation|fusion|rod|hardware|stabilization hardware|rod|device|plate?
        thoracic|lumbar|spine fixation|fusion|rod|hardware|stabilization hardware|rod|device|plate?
        fusion hardware|plate
        anterior? cervical|spinal fusion|plate hardware?
        harrington rod
        pedicle screw
        acdf
        vertebroplasty|kyphoplasty|laminectomy
        vertebroplasty|kyphoplasty change|cement|material""",
    "orthopedic_hardware": """
        plate|screw|rod
        orthopedic hardware|device|fixation
        plate|screw and plate|screw
        orthopedic? fixation hardware|plate|device
        internal fixation
        suture anchor
        bone|rotator anchor
        rotator cuff repair""",
    "joint_prosthesis": """
        prosthetic right|left? shoulder|joint|humerus
        arthroplasty|hemiarthroplasty
        shoulder|humeral|joint prosthesis|replacement|arthroplasty
        total? shoulder replacement|arthroplasty
        reverse shoulder arthroplasty""",
    "breast_implant": "breast implant|prosthesis|expander\ntissue expander",
    "surgical_clips": """
        clip|suture|staple
        surgical xxxx
        surgical|cholecystectomy|cabg|mediastinal|epigastric clip
        axillary|vascular|hemostatic|operative|bypass clip
        surgical suture|staple|material|device|hardware
        bypass graft? marker
        suture|staple line|material
        metallic|metal clip""",
    "monitoring_leads": "ekg|ecg|monitoring|monitor|telemetry lead|wire|electrode|device",
    "foreign_body": """
        foreign body|object|material
        bullet|shrapnel|pellet|bb|buckshot
        bullet|metallic|metal|shrapnel|ballistic|gunshot fragment|pellet|density
        metallic|metal foreign body
        retained foreign body|object
        radiopaque foreign? body|object|material|density
        metallic density|object|artifact|bb""",
}
"""Phrases by concept. A word that only describes (``elevated``) is named by what it mostly means."""

OF_OBSERVATION: Final[dict[str, str]] = {
    "Enlarged Cardiomediastinum": "enlarged_cardiomediastinum",
    "Cardiomegaly": "cardiomegaly",
    "Lung Opacity": "lung_opacity",
    "Lung Lesion": "nodule",
    "Edema": "pulmonary_edema",
    "Consolidation": "consolidation",
    "Pneumonia": "pneumonia",
    "Atelectasis": "atelectasis",
    "Pneumothorax": "pneumothorax",
    "Pleural Effusion": "pleural_effusion",
    "Pleural Other": "pleural_thickening",
    "Fracture": "fracture",
    "Support Devices": "support_device",
}
"""Concepts of the labeler's phrases that `CONCEPTS` does not hold."""

ORGANS: Final[dict[str, str]] = {
    "cardiomegaly": """
        heart
        heart size|silhouette|contour|shadow
        size of the? heart|cardiac silhouette?
        cardiac silhouette|size|shadow|contour|profile
        cardiac silhouette size
        cardiothymic silhouette|contour
        cardiothoracic|ct ratio
        cardiopericardial|cardiovascular|cardiac contour? silhouette""",
    "enlarged_cardiomediastinum": """
        mediastinum
        mediastinal|cardiomediastinal|cardiomediastinum silhouette|contour|structure|size?
        cardio mediastinal silhouette|contour
        superior mediastinum""",
    "chamber_enlargement": """
        left|right atrium|ventricle
        left|right atrial|ventricular contour|shadow|appendage""",
    "lung_abnormality": """
        lung
        lung field|zone|parenchyma
        lung and pleural space
        remainder|rest of the lung""",
    "pleural_abnormality": "pleural space|surface|margin|recess\npleura",
    "blunted_costophrenic_angle": "costophrenic|cp angle|sulcus|sulci|recess",
    "hilar_enlargement": "hilum|hila|hilus\nhilar structure|contour|silhouette|region|shadow|xxxx",
    "vascular_congestion": """
        pulmonary vascularity|vasculature|vessel
        pulmonary|central vascular marking|pattern|structure
        vascular marking
        vascularity|vasculature
        pulmonary xxxx""",
    "interstitial_pattern": "interstitium\nbronchovascular|interstitial|lung marking",
    "pulmonary_artery_enlargement": "main|central? pulmonary artery|arterial segment?",
    "bone_abnormality": """
        bone
        osseous|bony|skeletal|osseus structure
        osseous|bony structure of the chest|thorax
        bony|osseous thorax
        skeleton
        bony thoracic? cage
        rib cage
        rib
        spine
        thoracic|cervical|lumbar|thoracolumbar|dorsal vertebral? spine|body|column
        vertebral body|column
        bony|visualized skeleton""",
    "soft_tissue_swelling": "soft tissue\nsoft tissue structure",
    "tortuous_aorta": """
        aorta
        thoracic|descending|ascending descending|ascending|thoracic? aorta
        aortic contour|arch|knob|shadow|silhouette""",
    "hemidiaphragm_elevation": "diaphragm|hemidiaphragm",
    "tracheal_deviation": "trachea",
    "bowel_distension": "upper abdomen\nabdomen\nbowel gas pattern",
}
"""Organs whose size or look is stated, by the concept that a normal one denies."""

ENLARGED: Final[dict[str, str]] = {
    "cardiomegaly": "cardiomegaly",
    "enlarged_cardiomediastinum": "mediastinal_widening",
    "chamber_enlargement": "chamber_enlargement",
    "hilar_enlargement": "hilar_enlargement",
    "vascular_congestion": "vascular_congestion",
    "interstitial_pattern": "interstitial_pattern",
    "pulmonary_artery_enlargement": "pulmonary_artery_enlargement",
    "tortuous_aorta": "aortic_dilation",
}
"""What "enlarged" or "prominent" says of an organ; of the others only normality is read."""

REVERSED: Final[dict[str, str]] = {
    "pleural_effusion": """
        pleural space|cavity is|are free|clear of fluid and|or? air?
        pleural space|cavity : free|clear of fluid and|or? air?
        pleural space|cavity contain|hold|show no fluid""",
    "low_lung_volumes": """
        well|fully|normally|adequately inflated|expanded|aerated
        well inspired
        normal lung volume
        normal inspiration|inflation
        good|adequate|full inspiration
        lung volume is|are normal|preserved|adequate
        expanded""",
    "acute_disease": """
        normal|negative|unremarkable|clear chest
        normal|negative chest film|exam|examination|radiograph|xxxx|study
        normal|negative frontal and lateral chest
        normal|negative exam|examination|study
        chest is|appear normal|unremarkable|negative|clear
        normal heart and lung""",
    "tracheal_deviation": "trachea is|appear|remain? midline\nmidline trachea",
    "hyperinflation": "not hyperinflated",
}
"""Phrases whose assertion denies the concept ("well expanded")."""

SHADOWED: Final = """
    side|proximal|distal side? port|hole
    port of call
    line of sight
    heart border|rate
    left|right heart border
    cardiac monitor|catheterization
    in|on|of line with
    body habitus
    growth plate
    nipple marker
    line and tube :
    tube and line :
    support? device :
    nondisplaced? fracture may not be demonstrated|visualized|seen|visible|detected|evident
    catheter|lead|wire|screw|tube fracture
    lead|led to|by
    not in line
    mass effect
    joint effusion
    ct|mr|chest scan
    if clinically? indicated
    as clinically? indicated
"""
"""Phrases that only look like others."""

STATED_ABSENT_ONLY: Final = frozenset(
    {"acute_disease", "lung_abnormality", "pleural_abnormality", "bone_abnormality"}
)
"""Concepts that name nothing by themselves; a report's denial of them is a normal statement."""
