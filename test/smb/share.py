#!/usr/bin/env python3
"""Makes (or snapshots, or deletes) a share over REST: share.py FILE_PORT create|snapshot|delete SHARE."""
import base64, hashlib, hmac, http.client, sys
from email.utils import formatdate

ACCOUNT = 'devstoreaccount1'
KEY = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=='
VERSION = '2025-11-05'


def call(port, method, share, extra):
    date = formatdate(usegmt=True)
    query = {'restype': 'share', **extra}
    resource = f'/{ACCOUNT}/{ACCOUNT}/{share}' + ''.join(f'\n{k}:{query[k]}' for k in sorted(query))
    text = f'{method}\n' + '\n' * 11 + f'x-ms-date:{date}\nx-ms-version:{VERSION}\n{resource}'
    digest = hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()
    path = f'/{ACCOUNT}/{share}?' + '&'.join(f'{k}={v}' for k, v in query.items())
    connection = http.client.HTTPConnection('127.0.0.1', int(port))
    connection.request(method, path, headers={
        'x-ms-date': date, 'x-ms-version': VERSION, 'Content-Length': '0',
        'Authorization': f'SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}'})
    answer = connection.getresponse()
    print(answer.headers.get('x-ms-snapshot') or answer.status)
    if answer.status >= 300:
        sys.exit(answer.read().decode())


port, verb, share = sys.argv[1:]
call(port, 'DELETE' if verb == 'delete' else 'PUT', share, {'comp': 'snapshot'} if verb == 'snapshot' else {})
