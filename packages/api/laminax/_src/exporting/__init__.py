"""Export: functions as serialized programs, for other processes and machines."""
