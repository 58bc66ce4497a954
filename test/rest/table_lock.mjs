// SPDX-License-Identifier: Apache-2.0
// An example, and the helper of table_lock.test.mjs: a pessimistic lock for tables (rule_T4).
//
// Tables have no locks. To get one, reserve a blob for it and lease that blob: the lease is exclusive, it expires if
// its holder dies, and it excludes all clients that use the same blob.
//
//     const lock = await tableLock(blobService, 'locks', 'people');
//     await lock.hold(async () => { ...read and write the table, unconditionally... });

const LEASE_SECONDS = 15;
const TRY_AGAIN_MS = 20;

/** The lock of that name: a blob in the container, created if missing. */
export async function tableLock(blobService, container, name) {
    const containerClient = blobService.getContainerClient(container);
    await containerClient.createIfNotExists();
    const blob = containerClient.getBlockBlobClient(name);
    // Somebody else may make it, and even hold it, at the same moment: either is fine.
    await blob.upload('', 0, { conditions: { ifNoneMatch: '*' } }).catch((error) => {
        if (error.statusCode !== 409 && error.statusCode !== 412)
            throw error;
    });
    return {
        blob,
        /** Runs the work while holding the lock; waits for it first. */
        async hold(work) {
            const lease = blob.getBlobLeaseClient();
            await acquire(lease);
            try {
                return await work();
            } finally {
                await lease.releaseLease();
            }
        },
    };
}

async function acquire(lease) {
    for (;;) {
        try {
            await lease.acquireLease(LEASE_SECONDS);
            return;
        } catch (error) {
            // 409: another one holds it.
            if (error.statusCode !== 409)
                throw error;
        }
        await new Promise((done) => { setTimeout(done, TRY_AGAIN_MS); });
    }
}
