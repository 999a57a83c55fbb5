"""Pages of the docs site that are made from the code: mkdocs calls them by tools/site_hook.py."""
