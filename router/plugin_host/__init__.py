"""
The child's side of a `python` action: a process that runs plugin functions, one at a time.

Started as `python -P -m router.plugin_host DESCRIPTOR BYTES` in the folder of the rules file: the
descriptor is a socket to the router, BYTES bound the memory of the process. It imports little.

    wire       what travels: frames of JSON
    finding    from `module:function` to the function, and the SHA-256 of its source
    result     what a function may return
    running    one call, whatever it raises
    process    the loop around it, and the bounds of the process
"""
