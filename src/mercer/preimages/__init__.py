"""Back to input space: points z whose features phi(z) are near given vectors of the feature space."""
