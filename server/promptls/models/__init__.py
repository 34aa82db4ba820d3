"""Language models by the name `provider:model`: messages in, a completion out."""
