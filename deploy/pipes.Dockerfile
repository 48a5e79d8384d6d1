# The image for deploy/node-pipes.yaml. An ordinary container has files of Windows, which only Microsoft's base has: so
# this needs a builder that may fetch it. It was never built where wincsi is developed; the release workflow builds it.
# One image for each build of Windows: --build-arg WINDOWS=ltsc2022.
ARG WINDOWS=ltsc2022
FROM mcr.microsoft.com/windows/nanoserver:${WINDOWS}
COPY wincsi.exe /wincsi.exe
USER ContainerAdministrator
ENTRYPOINT ["C:\\wincsi.exe"]
CMD ["node"]
