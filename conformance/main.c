/* SPDX-License-Identifier: Apache-2.0 */
/* mxoracle: the judge. */
#include <mxoracle/mxoracle.h>

#include <stdio.h>

int main(void)
{
    printf("mxoracle %s\n", mxo_version());
    return 2;
}
