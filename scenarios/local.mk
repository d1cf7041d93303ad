# One file each; a new one only needs its name here.
scenario_files = \
	scenarios/demo.yaml
scenariosdir = $(pkgdatadir)/scenarios
dist_scenarios_DATA = $(scenario_files)
