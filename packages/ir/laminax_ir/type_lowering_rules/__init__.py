"""What becomes of values of users' types in operations that run programs: rules for `laminax_ir.recording.type_lowering`."""
