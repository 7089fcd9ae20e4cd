; The installer for Windows, for the present user alone: program, entry in the start menu, file types, uninstaller.
; windows.sh runs it: makensis -DVERSION=… -DFILES=FOLDER -DSETUP=FILE tomoscope.nsi
; /S installs without questions, /D=FOLDER sets the folder.
Unicode true
Target amd64-unicode
SetCompressor /SOLID lzma
; Both programs differ in a few bytes: a dictionary that holds one of them stores it once.
SetCompressorDictSize 128

!include MUI2.nsh

!define CLASSES "Software\Classes"
!define UNINSTALL "Software\Microsoft\Windows\CurrentVersion\Uninstall\tomoscope"

Name "tomoscope ${VERSION}"
OutFile "${SETUP}"
InstallDir "$LOCALAPPDATA\Programs\tomoscope"
InstallDirRegKey HKCU "${UNINSTALL}" InstallLocation
RequestExecutionLevel user
ManifestDPIAware true

!define MUI_ICON "${FILES}/tomoscope.ico"
!define MUI_UNICON "${FILES}/tomoscope.ico"
!define MUI_FINISHPAGE_RUN "$INSTDIR\tomoscopew.exe"
!insertmacro MUI_PAGE_LICENSE "${FILES}/LICENSE-MIT"
!insertmacro MUI_PAGE_DIRECTORY
!insertmacro MUI_PAGE_INSTFILES
!insertmacro MUI_PAGE_FINISH
!insertmacro MUI_UNPAGE_CONFIRM
!insertmacro MUI_UNPAGE_INSTFILES
!insertmacro MUI_LANGUAGE English

; The file types of assets/linux/tomoscope-mime.xml; those that the desktop entry names open in the window. (Windows knows no ending
; of two parts: .s.hdr is left out.)
!macro FileTypes DO
    !insertmacro ${DO} session "tomoscope session" open
    !insertmacro ${DO} sweep "EPRI acquisition" open
    !insertmacro ${DO} pairs "Crystal-pair histogram" open
    !insertmacro ${DO} tubes "Tubes of response" describe
    !insertmacro ${DO} petsird "PETSIRD list-mode data" open
    !insertmacro ${DO} Cdh "CASToR list-mode data" open
    !insertmacro ${DO} hs "Interfile projection data" open
!macroend

; Another program may have the same ending: tomoscope is added to the programs that can open it.
!macro AddType ENDING DESCRIPTION USE
    WriteRegStr HKCU "${CLASSES}\tomoscope.${ENDING}" "" "${DESCRIPTION}"
    WriteRegStr HKCU "${CLASSES}\tomoscope.${ENDING}\DefaultIcon" "" "$INSTDIR\tomoscope.ico"
    WriteRegStr HKCU "${CLASSES}\.${ENDING}\OpenWithProgids" "tomoscope.${ENDING}" ""
    !if ${USE} == open
        WriteRegStr HKCU "${CLASSES}\tomoscope.${ENDING}\shell\open\command" "" '"$INSTDIR\tomoscopew.exe" "%1"'
    !endif
!macroend

!macro RemoveType ENDING DESCRIPTION USE
    DeleteRegKey HKCU "${CLASSES}\tomoscope.${ENDING}"
    DeleteRegValue HKCU "${CLASSES}\.${ENDING}\OpenWithProgids" "tomoscope.${ENDING}"
    DeleteRegKey /ifempty HKCU "${CLASSES}\.${ENDING}\OpenWithProgids"
    DeleteRegKey /ifempty HKCU "${CLASSES}\.${ENDING}"
!macroend

; The Explorer reads the file types again.
!macro NotifyOfTypes
    System::Call 'shell32::SHChangeNotify(i 0x08000000, i 0, p 0, p 0)'
!macroend

Section
    SetOutPath "$INSTDIR"
    File "${FILES}/*"
    WriteUninstaller "$INSTDIR\uninstall.exe"
    CreateShortcut "$SMPROGRAMS\tomoscope.lnk" "$INSTDIR\tomoscopew.exe" "" "$INSTDIR\tomoscope.ico"
    !insertmacro FileTypes AddType
    !insertmacro NotifyOfTypes

    WriteRegStr HKCU "${UNINSTALL}" DisplayName tomoscope
    WriteRegStr HKCU "${UNINSTALL}" DisplayVersion "${VERSION}"
    WriteRegStr HKCU "${UNINSTALL}" DisplayIcon "$INSTDIR\tomoscope.ico"
    WriteRegStr HKCU "${UNINSTALL}" Publisher "The tomoscope developers"
    WriteRegStr HKCU "${UNINSTALL}" InstallLocation "$INSTDIR"
    WriteRegStr HKCU "${UNINSTALL}" UninstallString '"$INSTDIR\uninstall.exe"'
    WriteRegStr HKCU "${UNINSTALL}" QuietUninstallString '"$INSTDIR\uninstall.exe" /S'
    WriteRegDWORD HKCU "${UNINSTALL}" NoModify 1
    WriteRegDWORD HKCU "${UNINSTALL}" NoRepair 1
SectionEnd

; Settings and cache of the user stay.
Section Uninstall
    Delete "$SMPROGRAMS\tomoscope.lnk"
    ; The files by name: the folder may hold others.
    Delete "$INSTDIR\tomoscope.exe"
    Delete "$INSTDIR\tomoscopew.exe"
    Delete "$INSTDIR\tomoscope.ico"
    Delete "$INSTDIR\README.md"
    Delete "$INSTDIR\CHANGELOG.md"
    Delete "$INSTDIR\CITATION.cff"
    Delete "$INSTDIR\LICENSE-APACHE"
    Delete "$INSTDIR\LICENSE-MIT"
    Delete "$INSTDIR\THIRD-PARTY-LICENSES.txt"
    Delete "$INSTDIR\uninstall.exe"
    RMDir "$INSTDIR"
    !insertmacro FileTypes RemoveType
    !insertmacro NotifyOfTypes
    DeleteRegKey HKCU "${UNINSTALL}"
SectionEnd
