CREATE TABLE account (id bigint PRIMARY KEY, balance bigint NOT NULL);
INSERT INTO account VALUES (7, 0), (8, 0);
