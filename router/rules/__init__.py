"""
Which rules want an event, the jobs that follow, and the calls they render to.

Pure: JSON values in, values out; no I/O, no clock, nothing counted here.
"""
