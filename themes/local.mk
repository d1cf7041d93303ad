# One file each; a new one only needs its name here.
themesdir = $(pkgdatadir)/themes
dist_themes_DATA = \
	themes/contrast.theme \
	themes/dark.theme \
	themes/light.theme \
	themes/mono.theme \
	themes/okabe-ito.theme
