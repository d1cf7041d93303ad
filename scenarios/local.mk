# One file each; a new one only needs its name here.
scenario_files = \
	scenarios/O01.yaml \
	scenarios/S01.yaml \
	scenarios/S02.yaml \
	scenarios/S03.yaml \
	scenarios/S04.yaml \
	scenarios/S05.yaml \
	scenarios/S06.yaml \
	scenarios/S07.yaml \
	scenarios/S08.yaml \
	scenarios/S09.yaml \
	scenarios/S10.yaml \
	scenarios/S11.yaml \
	scenarios/S12.yaml \
	scenarios/demo.yaml
scenariosdir = $(pkgdatadir)/scenarios
dist_scenarios_DATA = $(scenario_files)
