// The header of libyaml.
#ifndef POSTERN_CYAML_H
#define POSTERN_CYAML_H
#include <yaml.h>
#endif
