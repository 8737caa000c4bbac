"""An ensemble as code: ONNX, Python and C."""
