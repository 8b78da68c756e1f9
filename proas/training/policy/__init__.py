"""Language models that act: the small one of our own, and local causal models of Hugging Face."""
