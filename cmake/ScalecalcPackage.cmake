# `cpack -G DEB` (tools/deb): one package of what is run; the library and its headers stay out.
set(CPACK_PACKAGE_NAME scalecalc)
set(CPACK_PACKAGE_VENDOR "scalecalc")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "calculator for signal propagation in deep networks")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL program)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ
  GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/cmake/ScalecalcDebFiles.cmake")
set(CPACK_SCALECALC_SOURCE "${PROJECT_SOURCE_DIR}")

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME scalecalc)
set(CPACK_DEBIAN_PROGRAM_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "gnuplot-nox, libdnnl2, man-db")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
"scalecalc derives how signals, gradients and steps scale with the depth and
width of a network, computes it, and checks it by real passes: skip
multipliers and gains for a depth and an optimizer, the standard deviation
of every parameter with code for frameworks, moments at every layer.")
set(SCALECALC_MAINTAINER "" CACHE STRING "Of packages: NAME <MAIL>")
if(SCALECALC_MAINTAINER)
  set(CPACK_PACKAGE_CONTACT "${SCALECALC_MAINTAINER}")
  set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${SCALECALC_MAINTAINER}")
endif()
include(CPack)
