# The app on the CPU. For CUDA, name the index of a torch that has it:
#   docker build --build-arg TORCH_INDEX=https://download.pytorch.org/whl/cu130 -t treelab .
FROM python:3.12-slim

ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu

# Whichever version of dot the base image's Debian has will do.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends graphviz \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /app
COPY requirements.txt .
RUN pip install --no-cache-dir "$(grep '^torch==' requirements.txt)" --index-url "$TORCH_INDEX" \
    && pip install --no-cache-dir -r requirements.txt \
       "authlib>=1.6,<2" "httpx>=0.28,<1" "psycopg[binary]>=3.2,<4" "distributed>=2026.8,<2027"

COPY . .

RUN useradd --create-home --uid 1000 treelab && mkdir /data && chown treelab /data && chmod 700 /data
USER 1000
ENV TREELAB_HOME=/data
VOLUME /data
EXPOSE 8501

HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://localhost:8501/_stcore/health')"]

# Inside a container every address is the container's own; docs/deploy.md says who gets in.
CMD ["streamlit", "run", "app.py", "--server.address=0.0.0.0", "--server.headless=true"]
