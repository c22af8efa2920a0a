//! Metadata image, config registry and the embedded controller's decisions.
