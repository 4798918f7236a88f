"""What stands elsewhere in the project, as drafts for what is typed next. Nothing leaves the machine."""
