"""The run store: tables, runs, events, models and workers, in one folder.

The data folder is named by ``TREELAB_HOME``, by default ``~/.treelab``::

    treelab.sqlite           what changes: runs and their states, events, workers;
                             elsewhere where ``TREELAB_STORE`` names a server
    tables/ID.parquet        a table, stored once under its content's SHA-256
    runs/RUN/                what one run leaves, RUN being its id:
        snapshots/*.json     the tree at some epochs, while it trained
        model/               the trained model: model.json and model.safetensors
        log.txt              the traceback of a failure
    logs/worker-SLOT.log     what the workers of a slot printed
    *.lock                   locks between processes

``run_store.RunStore`` is the way in; the modules beside it each hold one part of it.
Nothing here knows the jobs and the workers that use the store.
"""
