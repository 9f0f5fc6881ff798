"""What the end-to-end tests stand on: processes with bounded lives and connections that speak either framing."""
