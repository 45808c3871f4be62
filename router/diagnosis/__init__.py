"""
Why a request was refused, and which scheme would prove it: what `doctor` and `new provider` know.

Pure and bounded, but far too costly for the way of a delivery.
"""
