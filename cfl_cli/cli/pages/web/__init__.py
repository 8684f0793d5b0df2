"""Pages for browsers, one self-contained file each: templates, and what they are filled with.

Python decides every number, text and coordinate; templates hold all markup. Whatever a report says
is a text like any other there, escaped.
"""
