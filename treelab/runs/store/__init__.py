"""The run store: tables, runs, events, models and workers, in one folder.

``run_store.RunStore`` is the way in; the modules beside it each hold one part of it.
What lies where in the folder is in ``docs/architecture.md``. Nothing here knows the
jobs and the workers that use the store.
"""
