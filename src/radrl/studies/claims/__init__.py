"""What a study asks: a paper's claims, the tests of them, and the verdicts.

`stated` says what a claim is, `verdict` what a test of several seeds makes of it and what trainings that had
not levelled off leave of that, `tested` takes the seeds'
comparisons to it, `page` writes it down.
"""
