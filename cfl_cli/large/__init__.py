"""Where the work of a large run is done, and where its arrays are.

arrays          arrays that are files, which processes share; which parts of a stage are done
run_directory   the files of a run, safe from a kill or a power cut
stored          the engine whose arrays are those files
engine          which engine a run has
"""
