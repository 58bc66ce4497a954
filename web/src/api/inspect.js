// SPDX-License-Identifier: Apache-2.0
// The concurrency inspector's API, and its answers in words.

const get = (s, what, query = {}) => s.admin('GET', `/api/v1/inspect/${what}`, { query });

export const events = (s, { after, limit = 200, wait, resource, service, kinds } = {}) => get(s, 'events', {
    limit: String(limit), ...(after ? { after: String(after) } : {}), ...(wait ? { wait: String(wait) } : {}), ...(resource ? { resource } : {}),
    ...(service ? { service } : {}), ...(kinds ? { kind: kinds.join(',') } : {}),
});
export const leases = (s) => get(s, 'leases');
export const opens = (s) => get(s, 'opens');
export const contention = (s) => get(s, 'contention');
export const inFlight = (s, queue) => get(s, 'messages', { queue, inflight: '1' });

/** The rules of docs/concurrency/rules.md that refuse requests, in a line each. */
export const RULES = {
    B2: 'A write with If-Match happens only while the ETag is still the one that was read.',
    B3: 'If-None-Match, If-Modified-Since and If-Unmodified-Since are checked too.',
    B6: 'Conditions on the source of a copy are checked too.',
    L1: 'Only its own id renews, changes or releases a lease.',
    L2: 'A lease cannot be acquired while another one is valid.',
    L3: 'While a blob is leased, writes need the lease id.',
    L4: 'A write with the id of a lease that has expired is refused.',
    L5: 'A read that gives a lease id must give the valid one.',
    L7: 'A leased container is deleted only with its lease id.',
    T1: 'An entity is inserted only when none of its keys is there.',
    T2: 'Update, merge and delete of an entity need its current ETag in If-Match.',
    Q1: 'A message is deleted or updated only with the receipt of the last get.',
    S2: 'While an SMB client has a file open, others must fit what it shares and what it has locked.',
    S3: 'A file that an SMB client has marked for deletion takes no more requests.',
};

export const resourceOf = (event) => [event.container, event.object].filter((part) => part !== undefined && part !== '').join('/');

/** Who did it, as far as is known: "PutBlob by azsdk-js/12.3 from 127.0.0.1". */
export function whoOf(maker) {
    if (!maker)
        return 'somebody who is not known any more';
    const agent = (maker.userAgent ?? '').replace(/^Mozilla.*/, 'a browser').replace(/^(?!a browser)(\S+).*/, '$1');
    return `${maker.operation ? `${maker.operation} by ` : ''}${agent || 'a client'}${maker.clientRequestId ? ` (${maker.clientRequestId})` : ''}${maker.address ? ` from ${maker.address}` : ''}`;
}

function age(from, to) {
    const ms = Date.parse(to) - Date.parse(from);
    if (!Number.isFinite(ms) || ms < 0)
        return '';
    return ms < 1000 ? `${ms} ms before` : ms < 90000 ? `${(ms / 1000).toFixed(1)} s before` : `${Math.round(ms / 60000)} min before`;
}

const LEASE_ID = { missing: 'no lease id was sent', other: 'the id of another lease was sent', same: 'the right lease id was sent' };

/** Why a request was refused, in sentences. */
export function whyOf(event) {
    const said = [];
    const met = event.met ?? {};
    if (met.lease) {
        said.push(`It is ${met.lease}${met.leaseSecondsLeft !== undefined ? `, ${met.leaseSecondsLeft} s left` : ''}; ${event.error === 'LeaseAlreadyPresent' ? 'somebody has it already' : LEASE_ID[met.leaseId] ?? 'the lease does not allow it'}.`);
    } else if (met.holder) {
        if (event.sent)
            said.push(`The client asked for ${event.sent}.`);
        said.push(`An SMB client has the file open: ${typeof met.holder === 'string' ? met.holder : Object.values(met.holder).filter((one) => typeof one !== 'object').join(', ')}.`);
    } else {
        if (event.check)
            said.push(`${event.check}${event.sent ? ` ${event.sent}` : ''} was asked for.`);
        if (met.exists === false)
            said.push('There was nothing of that name.');
        else if (met.etag)
            said.push(`The ETag was ${met.etag}${met.lastModified ? `, modified ${met.lastModified}` : ''}.`);
    }
    if (event.madeBy)
        said.push(`${event.madeBy.current === false ? 'The last writer known of, though not of this state' : 'Made so by'}: ${whoOf(event.madeBy)}${event.madeBy.time ? `, ${age(event.madeBy.time, event.time)}` : ''}.`);
    return said;
}

/** How many of the events fell into each second of the last `span` seconds: [times, counts]. */
export function perSecond(list, span, now = Date.now()) {
    const end = Math.floor(now / 1000);
    const times = Array.from({ length: span }, (_, i) => end - span + 1 + i);
    const counts = new Array(span).fill(0);
    for (const event of list) {
        const at = Math.floor(Date.parse(event.time) / 1000) - times[0];
        if (at >= 0 && at < span)
            counts[at]++;
    }
    return [times, counts];
}
