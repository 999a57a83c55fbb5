"""Phrases that deny, hedge or bound what is said. How one is written: `radrl.labelers.rules.lexicon`."""

from typing import Final

from radrl.labelers.rules.items import Kind

CUES: Final[dict[Kind, str]] = {
    Kind.ENLARGED: """
        enlarged|large|dilated|widened|prominent|enlarging|big|globular|wide
        increased
        increased|increase in size""",
    Kind.BORDERLINE: """
        borderline enlarged|large|prominent|enlargement
        borderline in size
        normal to mildly|slightly|minimally|borderline? enlarged|large|prominent
        borderline normal?""",
    Kind.NORMAL: """
        normal
        unremarkable
        not enlarged
        within normal? limit of? normal?
        limit of normal
        within|at? the? upper limit|limit of? normal
        upper limit of? the? normal
        upper normal
        top limit? of? normal
        high normal
        nonenlarged
        not remarkable
        midline and normal
        nondilated""",
    Kind.DENY: """
        no
        not
        without
        without|no evidence|sign|finding|suggestion|indication|radiographic? of|for|to|that
        without evidence|development of
        neither
        nor
        never
        free of|from
        clear of|from
        negative for
        deny|denied|denying
        do|does|did not appear|seem|look|show|demonstrate|reveal|have|contain
        fail|failed to reveal|show|demonstrate
        absence|absent|resolution|disappearance|clearance|clearing|removal of
        interval|complete resolution|removal|clearing of
        rather than
        instead of
        lack|loss of
        exclude
        history|h of
        prior history of
        status post removal of
        remote|past history of""",
    Kind.DENY_BACK: """
        no longer seen|visualized|present|identified|evident|visible|apparent|noted|demonstrated|appreciated?
        not seen|visualized|present|identified|evident|visible|apparent
        not noted|demonstrated|appreciated|found|detected
        not definitely|currently? seen|identified|demonstrated|visualized|appreciated|evident
        not been? identified|seen|demonstrated
        has|have not developed|appeared|occurred|formed
        has|have been? completely|since|now? resolved|cleared|removed|disappeared
        has|have completely|since|now? been? resolved|cleared|removed|disappeared
        is|are|was|were been? now|since|completely? resolved|cleared|removed|gone|absent|excluded
        resolved|cleared|removed|disappeared
        with? interval|complete resolution|removal|clearing
        absent
        : none|absent|negative
        unlikely
        very|highly|considered|felt|thought unlikely
        ruled out
        been? ruled out
        excluded""",
    Kind.HEDGE: """
        possible|possibly|probable|probably|presumed|presumably|perhaps|maybe
        doubtful|questionable|question|questioned|equivocal|query|?
        potential|potentially|conceivably|alternatively|indeterminate
        raise|raising the|a? possibility|question|concern|suspicion of|for
        concern|worry|question about|regarding
        suspect|suspected
        suspicious|suspicion|concern|concerning|worrisome for|of
        suggestion|suggestive|question|possibility of
        suggest|suggesting
        favor|favored
        consider|considered to? be?
        more|rather likely than
        limit|limited evaluation|assessment of
        cannot|can|not? distinguish|differentiate from
        if""",
    Kind.HEDGE_LIST: """
        may|might|could|would
        may|might|could|would|can be|represent|reflect|indicate|include|suggest|relate|have|correspond
        may|might|could|would|can also|possibly|potentially|simply be|represent|reflect
        may|might|could|would|can also|possibly|potentially|simply indicate|include|suggest
        may|might|could|would be? due|related|secondary to
        may|might|could|would be? a? consistent|compatible with
        possibly|probably|perhaps|maybe secondary|due|related to
        possibly|probably|perhaps|maybe representing|reflecting
        differential diagnosis|consideration|possibility? is? xxxx? and? would? include?
        diagnostic|primary consideration|possibility would? include?
        consideration|possibility would|may|could? include
        another|other|further|alternative|differential consideration|possibility is|are
        consideration should|may|might|could|can be given to
        correlate|correlation clinically|clinical? for|with sign|symptom|evidence? of?""",
    Kind.HEDGE_BACK: """
        is|are|also|be? possible|suspected|questioned|questionable|suggested|favored|considered
        less likely
        if present|any
        should|might also? be? considered|entertained|suspected
        is|are a? consideration|possibility|concern|question
        is|are|remain also|still? a|an|another|the? other|further|differential|alternative? consideration
        is|are|remain also|still? a|an|another|the? possibility|concern
        would|could|may|might|should also|still? be|remain a|an|another|the? consideration|possibility|concern
        would|could|may|might|should also|still? be|remain a|an|the? differential|alternative consideration
        difficult to assess|evaluate|identify
        not well|clearly seen|visualized|evaluated|assessed|demonstrated|defined
        poorly|incompletely evaluated|seen|visualized|assessed
        is|are obscured
        may|might|could also? be present
        may|might|could have this appearance
        another|other|further|alternative consideration|possibility
        in the differential""",
    Kind.OPEN: """
        cannot|not|t be? entirely|completely|definitely|definitively|totally|reliably|confidently? exclude
        cannot|not|t be? entirely|completely|definitely|definitively|totally|reliably|confidently? rule out
        cannot|not|t entirely|completely|definitely|definitively? r / o
        no evidence to rule out
        difficult|hard|impossible|unable to entirely|completely|definitely? exclude
        difficult|hard|impossible|unable to rule out
        difficult|hard|impossible|unable to r / o
        without excluding
        unable to entirely|completely? exclude|rule""",
    Kind.OPEN_BACK: """
        cannot|not|t be? entirely|completely|definitely|totally|reliably|confidently? be? excluded
        cannot|not|t be? clinically|radiographically be? excluded
        cannot|not|t be? entirely|completely|definitely? be? ruled out
        difficult|hard|impossible to be? excluded""",
    Kind.EITHER: "or\nversus\nvs\nverses\nand / or",
    Kind.AND: "and\nas well as\n/",
    Kind.COMMA: ",",
    Kind.VERB: """
        is|are|was|were|has|have|had|appear|remain|demonstrate|show|reveal|contain
        overlie|project|measure|terminate
        :
        do|does|did|be|been|become|became|seem|lie|look""",
    Kind.SEEN: """
        seen|identified|noted|present|evident|visualized|visible|demonstrated|detected
        appreciated|apparent|found|suggested|observed|shown|recognized
        limited|suboptimal|degraded|precluded|compromised|hindered|impaired|difficult|requested""",
    Kind.CHANGE: """
        change|increase|worsening|progression|improvement|difference|decrease
        changed|worsened|improved|different|progressed|diminished|only""",
    Kind.QUALIFIER: """
        there|the|a|an|mild|mildly|small|moderate|moderately|severe|minimal|stable|unchanged
        persistent|old|healed|chronic|low|tortuous|bilateral|interval|increasing|again|status|this|these|some
        slight|slightly|trace|tiny|subtle|mild to|multiple|several|few
        right|left|bibasilar|basilar|scattered|residual""",
    Kind.STOP: """
        but|however|although|though|except|excepting|besides|nevertheless|yet|while|whereas|despite
        which|that|where
        aside|apart from
        other than
        with
        along|associated with
        secondary|due|related to
        in|given the? setting|context of
        there is|are|was|were
        because|since|given|after|following|when|so
        (|)""",
    Kind.ASKED: """
        rule|ruling out
        r / o
        to better|further|help|definitively|completely|reliably? exclude|eliminate
        evaluate|assess|look|screen|evaluated|assessed for
        evaluate|assess|evaluated|assessed the? left|right|both? lung? lung|chest|film|apex|base|field for
        evaluate|assess|evaluated|assessed the? left|right|both? mediastinum|hemithorax|thorax for
        evaluation|assessment|workup for
        evaluation|assessment of the? left|right|both? lung? lung|chest|film|apex|base|field for
        evaluation|assessment of the? left|right|both? mediastinum|hemithorax|thorax|heart for
        evaluation|assessment of the? left|right|both? pleural space|surface for
        evaluation|assessment of the? left|right|both? costophrenic angle|sulcus for
        limit|limited|suboptimal|inadequate for the? evaluation|assessment|detection|exclusion of""",
    Kind.ASKED_BACK: """
        should|must also|still|first|clinically? be clinically? ruled out
        should|must also|still|first|clinically? be clinically? excluded
        need|needed|remain|has|have|ought to be clinically? ruled out
        need|needed|remain|has|have|ought to be clinically? excluded""",
    Kind.IGNORED: """
        document|ensure|confirm|demonstrate|show|until complete|radiographic|interval? resolution|clearing of?
        evaluate|assess for? the? complete|radiographic|interval? resolution|clearing of?
        partially|partly|incompletely|mostly|largely resolved|cleared|disappeared|gone
        almost|near|nearly|virtually completely|entirely|totally? resolved|cleared|disappeared|gone
        essentially|practically completely|entirely|totally? resolved|cleared|disappeared|gone
        partial|incomplete resolution|clearing|clearance|disappearance of?
        almost|near|nearly|virtually complete|entire|total? resolution|clearing|clearance|disappearance of?
        essentially|practically complete|entire|total? resolution|clearing|clearance|disappearance of?
        resolved|cleared almost|nearly|mostly completely|entirely|totally?
        has|have|is|are been? resolved|cleared almost|nearly|mostly completely|entirely|totally?
        resolving|clearing
        not yet? been? yet|fully|completely|entirely? resolved|cleared|removed|disappeared
        consistent|compatible|keeping with
        consistent|compatible|keeping with the? patient? s? given? history|known of?
        may|might|could|would|should be helpful|useful|performed|obtained|considered|informative|beneficial|of
        less prominent|enlarged|dilated|conspicuous
        no doubt""",
}
