"""The audit as one HTML file: self-contained, without a request, for a browser that opens it from disk.

``page.render_page`` is called by ``writer``; it loads jinja2. Its script may
do no more than its own text, which the page's policy names by digest.
"""
