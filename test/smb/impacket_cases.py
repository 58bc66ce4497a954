# SPDX-License-Identifier: Apache-2.0
# Tests with python3-impacket's SMB client: run by impacket.test.mjs, which starts the server and passes its address.
#   impacket_cases.py all|policy|leave|find    SMB_PORT, SMB_ACCOUNT, SMB_KEY, SMB_KEY2; SMB_POLICY: --smb-encryption's
# Prints "ok NAME" or "not ok NAME: WHY" for each case.
import io
import os
import sys
import threading
import time

from impacket import nt_errors
from impacket.smb3structs import (FILE_ATTRIBUTE_HIDDEN, FILE_CREATE, FILE_DIRECTORY_FILE, FILE_NON_DIRECTORY_FILE,
                                  FILE_OPEN, FILE_READ_DATA, FILE_SHARE_READ, FILE_SHARE_WRITE, FILE_WRITE_DATA,
                                  GENERIC_READ, SMB2_DIALECT_002, SMB2_DIALECT_21, SMB2_DIALECT_30)
from impacket.smbconnection import SessionError, SMBConnection

PORT = int(os.environ['SMB_PORT'])
ACCOUNT, KEY, KEY2 = (os.environ[name] for name in ('SMB_ACCOUNT', 'SMB_KEY', 'SMB_KEY2'))
POLICY = os.environ.get('SMB_POLICY', 'preferred')
SHARE = 'share1'
# Not 3.1.1: version 0.10 makes wrong keys for it, and gets no further with Samba either (libsmbclient speaks it).
DIALECTS = {'2.1': SMB2_DIALECT_21, '3.0': SMB2_DIALECT_30}


def connect(dialect=None, user=ACCOUNT, key=KEY, domain='AZURE'):
    connection = SMBConnection('127.0.0.1', '127.0.0.1', sess_port=PORT, timeout=20, preferredDialect=dialect)
    connection.login(user, key, domain)
    return connection


def refused(call, *statuses):
    """Calls it; it has to fail with one of these."""
    try:
        call()
    except SessionError as error:
        code = error.getErrorCode()
    except Exception as error:  # smb3's own, before smbconnection wraps it
        code = getattr(error, 'get_error_code', lambda: None)()
        if code is None:
            raise
    else:
        raise AssertionError('it was allowed')
    name = nt_errors.ERROR_MESSAGES.get(code, (hex(code),))[0]
    assert name in statuses, '%s, not %s' % (name, ' or '.join(statuses))


def put(c, name, data):
    c.putFile(SHARE, name, io.BytesIO(data).read)


def get(c, name):
    out = io.BytesIO()
    c.getFile(SHARE, name, out.write)
    return out.getvalue()


def names(c, pattern):
    return sorted(f.get_longname() for f in c.listPath(SHARE, pattern) if f.get_longname() not in ('.', '..'))


# ---- who ----

def case_either_key_logs_in():
    for key in (KEY, KEY2):
        for domain in ('AZURE', '', 'localhost'):
            connect(key=key, domain=domain).close()


def case_wrong_keys_and_names_are_refused():
    refused(lambda: connect(key=KEY[::-1]), 'STATUS_LOGON_FAILURE', 'STATUS_ACCESS_DENIED')
    refused(lambda: connect(key=''), 'STATUS_LOGON_FAILURE', 'STATUS_ACCESS_DENIED')
    refused(lambda: connect(user='nobody'), 'STATUS_LOGON_FAILURE', 'STATUS_ACCESS_DENIED')


def case_guests_and_anonymous_are_refused():
    refused(lambda: connect(user='', key='', domain=''), 'STATUS_LOGON_FAILURE', 'STATUS_ACCESS_DENIED')
    refused(lambda: connect(user='guest', key='', domain=''), 'STATUS_LOGON_FAILURE', 'STATUS_ACCESS_DENIED')


def case_dialect_2_0_2_is_not_spoken():
    try:
        connect(SMB2_DIALECT_002)
    except Exception:
        return
    raise AssertionError('it was')


def case_shares_are_listed():
    shares = {s['shi1_netname'][:-1]: s['shi1_type'] for s in connect().listShares()}
    assert shares.get(SHARE) == 0 and shares.get('IPC$', 0) & 3 == 3, shares


def case_unknown_shares_are_refused():
    c = connect()
    refused(lambda: c.connectTree('nosuch'), 'STATUS_BAD_NETWORK_NAME')


# ---- files ----

def work_in(dialect):
    c = connect(dialect)
    assert c.getDialect() == dialect, hex(c.getDialect())
    base = 'd%x' % dialect
    data = bytes(range(256)) * 300
    c.createDirectory(SHARE, base)
    put(c, base + '\\one', data)
    assert get(c, base + '\\one') == data
    c.rename(SHARE, base + '\\one', base + '\\two')
    assert names(c, base + '\\*') == ['two']
    refused(lambda: c.deleteDirectory(SHARE, base), 'STATUS_DIRECTORY_NOT_EMPTY')
    refused(lambda: get(c, base + '\\one'), 'STATUS_OBJECT_NAME_NOT_FOUND')
    c.deleteFile(SHARE, base + '\\two')
    c.deleteDirectory(SHARE, base)
    refused(lambda: names(c, base + '\\*'), 'STATUS_OBJECT_PATH_NOT_FOUND', 'STATUS_OBJECT_NAME_NOT_FOUND',
            'STATUS_NO_SUCH_FILE')
    c.close()


def case_files_and_directories_in_2_1():
    work_in(DIALECTS['2.1'])


def case_files_and_directories_in_3_0():
    work_in(DIALECTS['3.0'])


def case_parts_of_a_file_are_written_and_read():
    c = connect()
    tree = c.connectTree(SHARE)
    f = c.createFile(tree, 'parts')
    c.writeFile(tree, f, b'b' * 5000, 10000)
    c.writeFile(tree, f, b'a' * 100, 0)
    assert c.readFile(tree, f, 0, 200) == b'a' * 100 + b'\0' * 100
    assert c.readFile(tree, f, 9990, 20) == b'\0' * 10 + b'b' * 10
    assert c.queryInfo(tree, f)['EndOfFile'] == 15000
    c.closeFile(tree, f)
    c.deleteFile(SHARE, 'parts')


def case_a_large_file_comes_back_whole():
    c = connect()
    data = os.urandom(1 << 20) * 3 + b'end'
    put(c, 'large', data)
    assert get(c, 'large') == data
    c.deleteFile(SHARE, 'large')


# But no pairs of surrogates: impacket counts them as one.
def case_names_in_any_script():
    c = connect()
    wanted = ['Ünïcödé', '日本語.txt', 'עברית', 'a' * 255, 'two  spaces']
    c.createDirectory(SHARE, 'names')
    for name in wanted:
        put(c, 'names\\' + name, name.encode())
    found = names(c, 'names\\*')
    assert found == sorted(wanted), found
    for name in wanted:
        assert get(c, 'names\\' + name) == name.encode()
        c.deleteFile(SHARE, 'names\\' + name)
    refused(lambda: put(c, 'names\\' + 'a' * 256, b''), 'STATUS_OBJECT_NAME_INVALID')
    c.deleteDirectory(SHARE, 'names')


def case_case_is_kept_and_ignored():
    c = connect()
    put(c, 'MiXed', b'x')
    assert get(c, 'mIxED') == b'x' and names(c, 'mixed') == ['MiXed']
    tree = c.connectTree(SHARE)
    refused(lambda: c.createFile(tree, 'MIXED', creationDisposition=FILE_CREATE), 'STATUS_OBJECT_NAME_COLLISION')
    c.deleteFile(SHARE, 'mixed')


def case_wildcards_choose():
    c = connect()
    c.createDirectory(SHARE, 'wild')
    for name in ('a1.txt', 'a2.txt', 'b1.dat', 'noext'):
        put(c, 'wild\\' + name, b'')
    assert names(c, 'wild\\a?.txt') == ['a1.txt', 'a2.txt']
    assert names(c, 'wild\\*1*') == ['a1.txt', 'b1.dat']
    refused(lambda: names(c, 'wild\\z*'), 'STATUS_NO_SUCH_FILE')
    for name in names(c, 'wild\\*'):
        c.deleteFile(SHARE, 'wild\\' + name)
    c.deleteDirectory(SHARE, 'wild')


def case_many_files_are_listed():
    c = connect()
    c.createDirectory(SHARE, 'many')
    wanted = sorted('file number %04d of many' % i for i in range(80))
    tree = c.connectTree(SHARE)
    for name in wanted:
        c.closeFile(tree, c.createFile(tree, 'many\\' + name))
    assert names(c, 'many\\*') == wanted
    for name in wanted:
        c.deleteFile(SHARE, 'many\\' + name)
    c.deleteDirectory(SHARE, 'many')


def case_attributes_and_times():
    c = connect()
    tree = c.connectTree(SHARE)
    before = time.time() - 2
    f = c.createFile(tree, 'attributes', fileAttributes=FILE_ATTRIBUTE_HIDDEN)
    c.writeFile(tree, f, b'12345')
    c.closeFile(tree, f)
    found = c.listPath(SHARE, 'attributes')[0]
    assert found.is_hidden() and not found.is_directory() and found.get_filesize() == 5
    for at in (found.get_ctime_epoch(), found.get_mtime_epoch(), found.get_atime_epoch()):
        assert before <= at <= time.time() + 2, at
    c.deleteFile(SHARE, 'attributes')


def case_share_modes_are_kept():
    one, two = connect(), connect()
    t1, t2 = one.connectTree(SHARE), two.connectTree(SHARE)
    f = one.createFile(t1, 'modes', FILE_READ_DATA | FILE_WRITE_DATA, FILE_SHARE_READ)
    refused(lambda: two.openFile(t2, 'modes', FILE_WRITE_DATA, FILE_SHARE_READ | FILE_SHARE_WRITE),
            'STATUS_SHARING_VIOLATION')
    refused(lambda: two.deleteFile(SHARE, 'modes'), 'STATUS_SHARING_VIOLATION')
    g = two.openFile(t2, 'modes', FILE_READ_DATA, FILE_SHARE_READ | FILE_SHARE_WRITE)
    one.writeFile(t1, f, b'seen at once')
    assert two.readFile(t2, g, 0, 100) == b'seen at once'
    two.closeFile(t2, g)
    one.closeFile(t1, f)
    two.deleteFile(SHARE, 'modes')


def case_a_directory_is_no_file():
    c = connect()
    tree = c.connectTree(SHARE)
    c.createDirectory(SHARE, 'kind')
    refused(lambda: c.openFile(tree, 'kind', GENERIC_READ, creationOption=FILE_NON_DIRECTORY_FILE,
                               creationDisposition=FILE_OPEN), 'STATUS_FILE_IS_A_DIRECTORY')
    put(c, 'kind\\file', b'')
    refused(lambda: c.openFile(tree, 'kind\\file', GENERIC_READ, creationOption=FILE_DIRECTORY_FILE,
                               creationDisposition=FILE_OPEN), 'STATUS_NOT_A_DIRECTORY')
    refused(lambda: c.createDirectory(SHARE, 'kind'), 'STATUS_OBJECT_NAME_COLLISION')
    refused(lambda: put(c, 'none\\file', b''), 'STATUS_OBJECT_PATH_NOT_FOUND')
    c.deleteFile(SHARE, 'kind\\file')
    c.deleteDirectory(SHARE, 'kind')


def case_clients_side_by_side():
    def client(number, failures):
        try:
            c = connect(list(DIALECTS.values())[number % 2])
            data = bytes([number]) * 70000
            for turn in range(2):
                name = 'side%d-%d' % (number, turn)
                put(c, name, data)
                assert get(c, name) == data
                c.deleteFile(SHARE, name)
            c.close()
        except Exception as error:
            failures.append('%d: %s' % (number, error))

    failures = []
    threads = [threading.Thread(target=client, args=(i, failures)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


# ---- --smb-encryption ----

def policy_case_dialects_under_the_policy():
    for label, dialect in DIALECTS.items():
        if POLICY == 'required' and label == '2.1':
            refused(lambda: connect(dialect).connectTree(SHARE), 'STATUS_ACCESS_DENIED')
        else:
            work_in(dialect)


def policy_case_sessions_are_encrypted_as_told():
    c = connect(SMB2_DIALECT_30)
    flags = c.getSMBServer()._Session['SessionFlags']
    assert bool(flags & 4) == (POLICY != 'off'), flags
    c.close()


# ---- REST looks, and changes things, between the two ----

def leave_case_a_file_for_rest():
    c = connect()
    c.createDirectory(SHARE, 'met')
    put(c, 'met\\Größe', b'from SMB')


def find_case_what_rest_has_made_of_it():
    c = connect()
    assert get(c, 'met\\gRÖße') == b'from REST, and longer'
    assert names(c, 'met\\*') == ['Größe'], names(c, 'met\\*')
    c.deleteFile(SHARE, 'met\\Größe')
    c.deleteDirectory(SHARE, 'met')


def main():
    prefix = {'all': 'case_', 'policy': 'policy_case_', 'leave': 'leave_case_', 'find': 'find_case_'}[sys.argv[1]]
    failed = 0
    for name, case in list(globals().items()):
        if not name.startswith(prefix):
            continue
        told = name[len(prefix):].replace('_', ' ')
        try:
            case()
            print('ok ' + told, flush=True)
        except Exception as error:
            failed += 1
            print('not ok %s: %s %s' % (told, type(error).__name__, str(error).replace('\n', ' ')), flush=True)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
