// The header of expat.
#ifndef POSTERN_CEXPAT_H
#define POSTERN_CEXPAT_H
#include <expat.h>
#endif
