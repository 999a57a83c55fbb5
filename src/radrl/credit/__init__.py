"""Credit: how a report's advantage is spread over its tokens (DiTPO, DEER eq. 6).

Lives here: one kind of credit a module, over the policy's tokens and labelers. Its equation is in
`algorithms`.
"""
