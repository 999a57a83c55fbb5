"""The reader of findings on sentences written for it: every attribute, every kind of concept, odd text."""

from __future__ import annotations

import pytest

from radrl.scoring.weighted_findings.reader import findings_of, statements_of

LEFT, RIGHT, BOTH = frozenset({"left"}), frozenset({"right"}), frozenset({"left", "right"})


def said(report):
    """What a report says, in short: concepts by name, ``-`` before a denied, ``?`` before a hedged one."""
    return [
        f"{'' if one.present else '-'}{'?' if one.certainty == 'hedged' else ''}{one.concept}"
        for one in statements_of(report)
    ]


def only(report):
    (finding,) = findings_of(report)
    return finding


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        # status and certainty
        ("There is a pleural effusion.", ["pleural_effusion"]),
        ("No pleural effusion.", ["-pleural_effusion"]),
        ("No effusion or pneumothorax.", ["-pleural_effusion", "-pneumothorax"]),
        ("Possible pneumonia.", ["?pneumonia"]),
        ("Pneumonia cannot be excluded.", ["?pneumonia"]),
        ("Pneumonia is unlikely.", ["-pneumonia"]),
        ("Pneumonia is likely.", ["?pneumonia"]),
        ("Left basilar opacity, likely atelectasis.", ["lung_opacity", "?atelectasis"]),
        ("Edema or infection.", ["?pulmonary_edema", "?pneumonia"]),
        ("Evaluate for pneumonia.", []),
        # normal statements
        ("The lungs are clear.", ["-lung_abnormality"]),
        ("Heart size is normal.", ["-cardiomegaly"]),
        ("Heart and mediastinum are normal.", ["-cardiomegaly", "-enlarged_cardiomediastinum"]),
        (
            "The cardiac and mediastinal contours are normal.",
            ["-cardiomegaly", "-enlarged_cardiomediastinum"],
        ),
        ("No acute cardiopulmonary abnormality.", ["-acute_disease"]),
        ("Normal chest radiograph.", ["-acute_disease"]),
        ("The bones are intact.", ["-bone_abnormality"]),
        ("The trachea is midline.", ["-tracheal_deviation"]),
        ("The lungs are well expanded.", ["-low_lung_volumes"]),
        ("The pleural spaces are clear of fluid and air.", ["-pleural_effusion"]),
        # a denial of a denial is none
        ("The lungs are not free of edema.", ["pulmonary_edema"]),
        ("It is not true that there is no effusion.", ["pleural_effusion"]),
        # the parts of the chest
        ("The heart is enlarged.", ["cardiomegaly"]),
        ("The mediastinum is widened.", ["mediastinal_widening"]),
        ("Mediastinal mass.", ["mediastinal_mass"]),
        ("Mass in the right hilum.", ["hilar_mass"]),
        ("Pulmonary vascular congestion with Kerley B lines.", ["vascular_congestion", "kerley_lines"]),
        ("Interstitial edema.", ["interstitial_edema"]),
        ("The hila are prominent.", ["hilar_enlargement"]),
        ("Right hilar lymphadenopathy.", ["hilar_adenopathy"]),
        ("The aorta is tortuous and calcified.", ["tortuous_aorta", "aortic_calcification"]),
        ("The heart is large and the aortic arch is calcified.", ["cardiomegaly", "aortic_calcification"]),
        ("Calcified hilar lymph nodes.", ["calcified_lymph_node"]),
        ("Calcified nodule in the left base.", ["calcified_granuloma"]),
        ("Calcified pleural plaques.", ["pleural_calcification"]),
        ("Mitral annular calcification.", ["valve_calcification"]),
        ("Hyperinflated lungs with flattened diaphragms.", ["hyperinflation", "flattened_diaphragm"]),
        ("Emphysema. COPD. Bulla.", ["emphysema", "copd", "bulla"]),
        ("Subcutaneous emphysema.", ["subcutaneous_emphysema"]),
        ("Pneumomediastinum and pneumoperitoneum.", ["pneumomediastinum", "free_air"]),
        ("Tension pneumothorax.", ["tension_pneumothorax"]),
        ("Right upper lobe collapse.", ["lobar_collapse"]),
        ("Cavitary lesion.", ["cavity"]),
        ("Bronchiectasis and pulmonary fibrosis.", ["bronchiectasis", "pulmonary_fibrosis"]),
        ("Hiatal hernia.", ["hiatal_hernia"]),
        ("Scoliosis and osteopenia.", ["scoliosis", "osteopenia"]),
        ("Degenerative changes of the thoracic spine.", ["degenerative_spine"]),
        ("Degenerative changes of the shoulders.", ["degenerative_shoulder"]),
        ("Fractures of the left fifth and sixth ribs.", ["rib_fracture"]),
        ("Healed left rib fracture.", ["old_rib_fracture"]),
        ("Compression deformity of T8.", ["vertebral_fracture"]),
        ("Right clavicle fracture.", ["clavicle_fracture"]),
        ("Lytic lesion in the left seventh rib.", ["bone_lesion"]),
        ("Shoulder dislocation.", ["dislocation"]),
        # devices one by one
        ("ETT in place.", ["endotracheal_tube"]),
        ("A Dobbhoff tube and a PICC.", ["feeding_tube", "picc"]),
        ("Port-A-Cath. Swan-Ganz catheter.", ["port", "pulmonary_artery_catheter"]),
        ("Tunneled dialysis catheter.", ["dialysis_catheter"]),
        ("Median sternotomy wires are intact.", ["sternotomy_wires"]),
        ("Prosthetic aortic valve. Coronary stent.", ["prosthetic_valve", "stent"]),
        ("Surgical clips.", ["surgical_clips"]),
        ("Intra-aortic balloon pump.", ["intra_aortic_balloon_pump"]),
        ("Left chest wall pacemaker with leads unchanged.", ["pacemaker"]),
        ("AICD. Loop recorder.", ["defibrillator", "loop_recorder"]),
        ("The nasogastric tube is coiled in the esophagus.", ["nasogastric_tube", "device_malposition"]),
        ("Catheter tip in the SVC.", ["central_line"]),
    ],
)
def test_concepts_status_and_certainty(report, expected):
    assert said(report) == expected


@pytest.mark.parametrize(
    ("report", "sides", "regions"),
    [
        ("Left effusion.", LEFT, set()),
        ("Effusion on the right.", RIGHT, set()),
        ("Bilateral effusions.", BOTH, set()),
        ("Effusions, right greater than left.", BOTH, set()),
        ("Bibasilar atelectasis.", BOTH, {"base"}),
        ("Atelectasis at the lung bases.", BOTH, {"base"}),
        ("Atelectasis at the left lung base.", LEFT, {"base"}),
        ("Opacities in the right middle and lower lobes.", RIGHT, {"middle_lobe", "lower_lobe"}),
        ("Consolidation in the right upper and left lower lobes.", BOTH, {"upper_lobe", "lower_lobe"}),
        ("RUL nodule.", RIGHT, {"upper_lobe"}),
        ("Lingular opacity.", LEFT, {"lingula"}),
        ("Opacity in the right mid lung.", RIGHT, {"mid_zone"}),
        ("Left retrocardiac opacity.", LEFT, {"retrocardiac"}),
        ("Biapical scarring.", BOTH, {"apex"}),
        ("Right perihilar opacity.", RIGHT, {"perihilar"}),
        ("Emphysema in the upper lobes.", BOTH, {"upper_lobe"}),
        ("The left hemidiaphragm is elevated.", LEFT, set()),
        ("The third rib on the right is fractured.", RIGHT, set()),
        ("The right lung shows a nodule.", RIGHT, set()),
        ("Mild cardiomegaly on the left.", frozenset(), set()),
    ],
)
def test_sides_and_regions(report, sides, regions):
    finding = only(report)
    assert (finding.sides, set(finding.regions)) == (sides, regions)


@pytest.mark.parametrize(
    ("report", "severity"),
    [
        ("Effusion.", None),
        ("Trace effusion.", 0),
        ("Small effusion.", 1),
        ("Mild edema.", 1),
        ("Small to moderate effusion.", 2),
        ("Moderate effusion.", 2),
        ("Moderate to large effusion.", 3),
        ("The effusion is large.", 3),
        ("Severe scoliosis.", 3),
        ("The right hemidiaphragm is mildly elevated.", 1),
        ("Heart size is borderline enlarged.", 0),
    ],
)
def test_severity(report, severity):
    assert only(report).severity == severity


@pytest.mark.parametrize(
    ("report", "size_mm"),
    [
        ("6 mm nodule.", 6),
        ("A nodule measuring 1.5 cm.", 15),
        ("1.5 x 2.0 cm mass.", 20),
        ("Mass of 3 centimeters.", 30),
        ("A 12-mm nodule.", 12),
        ("Nodule, T8 level.", None),
    ],
)
def test_measurements(report, size_mm):
    assert only(report).size_mm == size_mm


@pytest.mark.parametrize(
    ("report", "change"),
    [
        ("New effusion.", "new"),
        ("The effusion has increased.", "increased"),
        ("Worsening edema.", "increased"),
        ("Decreased effusion.", "decreased"),
        ("The consolidation has improved.", "decreased"),
        ("Unchanged effusion.", "unchanged"),
        ("No change in the effusion.", "unchanged"),
        ("Again seen is a nodule, now larger.", "increased"),
        ("Increased opacity.", None),
        ("Increased opacity compared with the prior study.", "increased"),
        ("The effusion is almost completely resolved.", "decreased"),
        ("Follow up to document resolution of the opacity.", None),
    ],
)
def test_change_of_what_is_there(report, change):
    finding = only(report)
    assert (finding.present, finding.change) == (True, change)


@pytest.mark.parametrize(
    ("report", "change"),
    [
        ("The effusion has resolved.", "resolved"),
        ("Interval removal of the chest tube.", "resolved"),
        ("No new effusion.", None),
    ],
)
def test_change_of_what_is_not(report, change):
    finding = only(report)
    assert (finding.present, finding.change) == (False, change)


@pytest.mark.parametrize(
    ("report", "tip", "tip_mm"),
    [
        ("The endotracheal tube ends 4 cm above the carina.", "carina", 40),
        ("Endotracheal tube tip is 35 mm from the carina.", "carina", 35),
        ("NG tube tip in the stomach.", "stomach", None),
        ("Enteric tube courses below the diaphragm.", "below_diaphragm", None),
        ("Right IJ central venous catheter with tip in the mid SVC.", "superior_vena_cava", None),
        ("Left PICC terminates at the cavoatrial junction.", "cavoatrial_junction", None),
        ("Dialysis catheter ends in the right atrium.", "right_atrium", None),
        ("Pacemaker with lead in the right ventricle.", "right_ventricle", None),
        ("Balloon pump tip 2 cm below the aortic knob.", "aortic_knob", 20),
        ("Chest tube.", None, None),
    ],
)
def test_tips(report, tip, tip_mm):
    finding = only(report)
    assert (finding.tip, finding.tip_mm, finding.size_mm) == (tip, tip_mm, None)


@pytest.mark.parametrize(
    "report",
    [
        "ETT tip in the right mainstem bronchus.",
        "NG tube ends in the esophagus.",
        "Right mainstem intubation.",
        "The catheter is kinked.",
    ],
)
def test_a_tube_where_it_must_not_be_is_malpositioned(report):
    assert "device_malposition" in said(report)


def test_a_landmark_is_no_malposition():
    assert said("ETT tip 4 cm above the right mainstem bronchus.") == ["endotracheal_tube"]


def test_what_a_finding_points_to_lies_where_it_lies():
    opacity, pneumonia = findings_of("Left lower lobe opacity may represent pneumonia.")
    assert (pneumonia.concept, pneumonia.certainty) == ("pneumonia", "hedged")
    assert (pneumonia.sides, pneumonia.regions) == (opacity.sides, opacity.regions) == (LEFT, {"lower_lobe"})
    _, atelectasis = findings_of("Opacity at the left base, atelectasis.")
    assert atelectasis.sides == LEFT


def test_qualities_belong_to_their_finding():
    nodule, effusion = findings_of("2 cm nodule in the right upper lobe and small left pleural effusion.")
    assert (nodule.size_mm, nodule.sides, nodule.severity) == (20, RIGHT, None)
    assert (effusion.size_mm, effusion.sides, effusion.severity) == (None, LEFT, 1)
    line, tube = findings_of("Right PICC ends in the SVC, and the ET tube ends 3 cm above the carina.")
    assert (line.tip, line.tip_mm, tube.tip, tube.tip_mm) == ("superior_vena_cava", None, "carina", 30)


def test_what_ends_a_list_is_said_of_all_of_it():
    tube, line = findings_of("Tracheostomy and left PICC are unchanged.")
    assert (tube.change, line.change) == ("unchanged", "unchanged")
    small, large = findings_of("The left effusion is small and the right effusion is large.")
    assert (small.severity, large.severity) == (1, 3)


def test_what_is_said_in_several_places_is_one_finding():
    finding = only("Small left effusion. Left basal effusion is unchanged. Effusion measures 3 cm.")
    assert (finding.sides, finding.regions) == (LEFT, {"base"})
    assert (finding.severity, finding.change, finding.size_mm) == (1, "unchanged", 30)
    assert only("Left effusion. Right effusion.").sides == BOTH
    small, large = findings_of("Small left effusion. Large right effusion. Effusions.")
    assert (small.severity, large.severity) == (1, 3)
    assert only("Possible effusion. Left effusion.").certainty == "certain"


def test_what_is_denied_and_stated_stays_both():
    assert sorted(one.present for one in findings_of("No effusion. Small effusion.")) == [False, True]


def test_sections_about_the_request_are_passed_over():
    report = "INDICATION: Pneumonia? COMPARISON: None. FINDINGS: Small effusion.\n\nIMPRESSION: Effusion."
    assert [one.concept for one in findings_of(report)] == ["pleural_effusion"]


def test_spans_are_the_words_of_the_report():
    report = "INDICATION: cough.\n\nFINDINGS: The HEART  is enlarged; no\npleural effusion. Left-sided PICC."
    spans = [report[slice(*one.span)] for one in findings_of(report)]
    assert spans == ["HEART", "pleural effusion", "PICC"]
    assert [one.span for one in findings_of(report, brief=True)] == [(0, 0)] * 3
    assert findings_of(report, brief=True) == findings_of(report)


@pytest.mark.parametrize(
    "text",
    ["", " ", "\n\n", "nan", "XXXX", ".", ":::", "-", "%PDF-1.4 \x00\x01", "1.5 x", "cm", "\ufb01", "İ"],
)
def test_text_without_findings(text):
    assert findings_of(text) == ()


def test_a_letter_that_is_two_in_lower_case_moves_no_span():
    report = "İ. Small effusion."
    (finding,) = findings_of(report)
    assert report[slice(*finding.span)] == "effusion"


def test_a_sentence_spelled_in_other_letters_has_no_span():
    (finding,) = findings_of("\uff45\uff46\uff46\uff55\uff53\uff49\uff4f\uff4e.")  # full-width letters
    assert (finding.concept, finding.span) == ("pleural_effusion", (0, 0))


@pytest.mark.parametrize(
    ("report", "size_mm", "change"),
    [
        ("Nodule of 12 mm, previously 8 mm.", 12, "increased"),
        ("The nodule has grown from 8 mm to 1.2 cm.", 12, "increased"),
        ("The nodule has grown from 8 to 12 mm.", 12, "increased"),
        ("9 mm nodule (was 9 mm).", 9, "unchanged"),
        ("Nodule of 2.3 x 1.4 cm, compared with 2.9 cm.", 23, "decreased"),
        ("Half a centimeter nodule.", 5, None),
        ("Nodule of two centimeters.", 20, None),
        ("The nodule was 8 mm.", 8, None),
    ],
)
def test_a_size_of_an_earlier_film_is_a_change(report, size_mm, change):
    found = only(report)
    assert (found.size_mm, found.change) == (size_mm, change)


def test_an_earlier_size_goes_with_the_one_before_it():
    first, second = findings_of("8 mm nodule, previously 12 mm, and a 5 mm granuloma.")
    assert (first.size_mm, first.change, second.size_mm, second.change) == (8, "decreased", 5, None)


@pytest.mark.parametrize(
    ("report", "concept", "severity"),
    [
        ("10% right pneumothorax.", "pneumothorax", 1),
        ("Right pneumothorax of 20 to 30 percent.", "pneumothorax", 2),
        ("Pneumothorax, 70%.", "pneumothorax", 3),
        ("Tiny pneumothorax, 70%.", "pneumothorax", 0),  # words before figures
        ("Compression fracture of T8 with 50% loss of height.", "vertebral_fracture", 3),
        ("Scoliosis with a Cobb angle of 30 degrees.", "scoliosis", 2),
        ("Cardiothoracic ratio 0.6.", "cardiomegaly", 2),
        ("The cardiothoracic ratio is 65%.", "cardiomegaly", 3),
        ("Atelectasis of 30%.", "atelectasis", None),
    ],
)
def test_figures_are_degrees_of_what_they_measure(report, concept, severity):
    found = only(report)
    assert (found.concept, found.present, found.severity) == (concept, True, severity)


def test_a_ratio_of_a_heart_that_is_not_large_denies_it():
    assert not only("Cardiothoracic ratio of 0.45.").present


@pytest.mark.parametrize(
    ("report", "tip", "misplaced"),
    [
        ("NG tube ends 8 cm above the gastroesophageal junction.", "esophagus", True),
        ("NG tube ends 8 cm beyond the gastroesophageal junction.", "stomach", False),
        ("The endotracheal tube ends 1 cm below the carina.", "right_main_bronchus", True),
        ("The endotracheal tube ends 4 cm above the carina.", "carina", False),
        ("Right PICC ends 3 cm below the carina.", "superior_vena_cava", False),
        ("Right PICC ends 2 cm below the cavoatrial junction.", "right_atrium", False),
    ],
)
def test_which_way_a_tube_ends_from_a_landmark(report, tip, misplaced):
    tube, *others = findings_of(report)
    assert tube.tip == tip
    assert [one.concept for one in others] == ["device_malposition"] * misplaced


@pytest.mark.parametrize(
    ("report", "concept", "sides"),
    [
        ("Gas beneath both hemidiaphragms.", "free_air", ""),
        ("Air in the left pleural space.", "pneumothorax", "left"),
        ("Broken left seventh rib.", "rib_fracture", "left"),
        ("32 mm nodule in the right lung.", "mass", "right"),
        ("Deformity of multiple thoracic vertebrae.", "vertebral_fracture", ""),
        ("Old compression fracture of L1.", "vertebral_fracture", ""),
        ("Irregularity of the posterior right 7th rib.", "bone_deformity", "right"),
        ("Left intercostal drain.", "chest_tube", "left"),
        ("The catheter of a right port.", "port", "right"),
    ],
)
def test_other_words_for_it(report, concept, sides):
    found = only(report)
    assert (found.concept, " ".join(found.sides)) == (concept, sides)


def test_what_an_effusion_blunts_is_on_its_side():
    found = {one.concept: one.sides for one in findings_of("Right effusion blunting the costophrenic angle.")}
    assert found["blunted_costophrenic_angle"] == {"right"}


def test_an_irregularity_that_is_not_of_a_bone_names_nothing():
    assert findings_of("There is a contour irregularity.") == ()
