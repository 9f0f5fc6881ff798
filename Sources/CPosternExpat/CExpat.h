// expat as it is; nothing else lives in this header.
#ifndef POSTERN_CEXPAT_H
#define POSTERN_CEXPAT_H
#include <expat.h>
#endif
