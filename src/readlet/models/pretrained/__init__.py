"""What readers and classifiers on pretrained encoders of transformers share."""
