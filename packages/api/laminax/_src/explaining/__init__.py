"""Reports about compiled programs: costs by line, memory over a run, structure, times of compiling."""
