"""What several pages share.

``state`` is what the visitor chose, ``cached`` what the run store holds; ``widgets``
are the controls of a page and ``views`` its drawings.
"""
