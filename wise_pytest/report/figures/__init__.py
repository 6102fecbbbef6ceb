"""The audit's pictures, drawn as SVG by the few marks that they need.

``catalog.figures_of`` lists the pictures of a document; ``figure.Figure`` draws
one for the page, for a file or for paper. No plotting library: every session
draws its pictures, and importing one would cost it more than all of them take.
"""
