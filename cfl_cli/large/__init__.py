"""Where the work of a large run is done, and where its arrays are: engines that outlive a process.

maps            arrays that are files, which processes share
marks           which parts of a stage are done
run_directory   the files of a run, safe from a kill or a power cut
stored          the engine whose arrays are those files
cluster         Dask, which runs kernels in other processes
abroad          and on other hosts, which do not see the files
opened          which engine a run has
"""
