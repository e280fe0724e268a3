"""Three small text-to-image models, trained here, that can't count; nothing heavy is imported by this file."""
