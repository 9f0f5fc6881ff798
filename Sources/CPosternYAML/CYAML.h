// libyaml as it is; nothing else lives in this header.
#ifndef POSTERN_CYAML_H
#define POSTERN_CYAML_H
#include <yaml.h>
#endif
