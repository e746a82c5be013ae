"""What the harness says when it can't go on."""


class HarnessError(Exception):
    """Something that the person at the terminal has to know or to do; the message is the whole answer.

    The command lines print it in one piece and exit with 1, without a traceback.
    """
